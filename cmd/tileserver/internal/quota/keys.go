package quota

import (
	"bufio"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"quadrille/internal/bom"
)

// Hash is the stored form of a key. It is a fast hash, because one is computed for every request.
// It protects random keys with 128 bits or more, which are too many to try, but it would not
// protect words that people have chosen.
type Hash [sha256.Size]byte

// HashOf returns the hash of a key, as printed by: printf %s KEY | sha256sum.
func HashOf(key string) Hash { return sha256.Sum256([]byte(key)) }

// Key is a client with a name.
type Key struct {
	Name   string
	Limits Limits // empty means the limits for all keys
	Scopes []Scope
}

// Has reports whether the key has a scope, or a wider one that includes it.
func (k *Key) Has(s Scope) bool {
	for _, own := range k.Scopes {
		if (own.Write || !s.Write) && (own.Collection == AnyCollection || own.Collection == s.Collection) {
			return true
		}
	}
	return false
}

// Keys are the accepted keys. They are immutable and may be used by any number of goroutines.
type Keys struct {
	byHash map[Hash]*hashedKey
}

type hashedKey struct {
	Key
	hash Hash
}

// These are bounds of a file of keys, in bytes of the file and of a name.
const (
	MaxFile = 64 << 20
	maxName = 64
	maxKey  = 256 // bytes of a key that a client sends
)

// FormatLine writes a key as ReadKeys reads it.
func FormatLine(name string, hash Hash, limits []Limit, scopes ...Scope) string {
	var b strings.Builder
	b.WriteString(name + ":" + hex.EncodeToString(hash[:]))
	for _, l := range limits {
		b.WriteString(" " + l.String())
	}
	for _, s := range scopes {
		b.WriteString(" " + s.String())
	}
	return b.String()
}

var errName = errors.New("a name has 1 to 64 letters, digits, dots, hyphens and underscores")

// CheckName returns an error unless a client may have this name. Names are written to logs and
// files.
func CheckName(name string) error {
	if name == "" || len(name) > maxName {
		return errName
	}
	for i := range len(name) {
		switch c := name[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '-', c == '_':
		default:
			return errName
		}
	}
	return nil
}

// ReadKeys reads a line for each key:
//
//	NAME:SHA256 [LIMIT …] [SCOPE …]
//
// such as "acme:9f86…0a08 600/1m 100000/1d write:shops". A name may have several keys, for example
// an old and a new key during a replacement. They share counts, but each request has the limits and
// scopes of its own key. Empty lines and lines that begin with # are skipped. Errors give the
// number of the line and never its text. With an error that matches [ErrUnfinished], the keys of
// the previous lines are returned.
func ReadKeys(r io.Reader) (*Keys, error) {
	k := &Keys{byHash: make(map[Hash]*hashedKey)}
	limited := &io.LimitedReader{R: bom.Skip(bufio.NewReader(r)), N: MaxFile + 1}
	lines := bufio.NewScanner(limited)
	var ended bool // the line has an end
	lines.Split(func(data []byte, atEOF bool) (int, []byte, error) {
		n, line, err := bufio.ScanLines(data, atEOF)
		ended = n > 0 && data[n-1] == '\n'
		return n, line, err
	})
	n := 1
	for ; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		key, err := readKey(line)
		if err != nil && !ended && limited.N > 0 {
			return k, fmt.Errorf("line %d: %w", n, ErrUnfinished)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if k.byHash[key.hash] != nil {
			return nil, fmt.Errorf("line %d: this key is there already; keep one of the two lines", n)
		}
		k.byHash[key.hash] = key
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fmt.Errorf("line %d: %w", n, errKeyLine)
	case err != nil:
		return nil, err
	case limited.N == 0:
		return nil, fmt.Errorf("it is over %d bytes; split the service by keys", MaxFile)
	}
	return k, nil
}

// ErrUnfinished means that a file of keys ends within a line that is not a key: the file is still
// being written, or the program that wrote it was killed.
var ErrUnfinished = errors.New("the file ends within this line: end it or remove it")

var errKeyLine = errors.New("write NAME:SHA256, and limits such as 600/1m and scopes such as write:shops behind it; " +
	"tileserver keys new NAME makes such a line")

func readKey(line string) (*hashedKey, error) {
	fields := strings.Fields(line)
	name, sum, _ := strings.Cut(fields[0], ":")
	if err := CheckName(name); err != nil {
		return nil, err
	}
	k := &hashedKey{Key: Key{Name: name}}
	if len(sum) != hex.EncodedLen(len(k.hash)) {
		return nil, errKeyLine
	}
	if _, err := hex.Decode(k.hash[:], []byte(sum)); err != nil {
		return nil, errKeyLine
	}
	for _, f := range fields[1:] {
		if strings.Contains(f, ":") {
			scope, err := ParseScope(f)
			if err != nil {
				return nil, errKeyLine
			}
			k.Scopes = append(k.Scopes, scope)
			continue
		}
		l, err := ParseLimit(f)
		if err != nil {
			return nil, errKeyLine
		}
		if err := k.Limits.Add(l); err != nil {
			return nil, err
		}
	}
	return k, nil
}

// Len returns the number of keys.
func (k *Keys) Len() int { return len(k.byHash) }

// Find returns the client of a key, or nil if the key is unknown. Its duration reveals nothing
// about keys. It looks up a hash, no part of which a client can choose without trying keys, and
// compares it in constant time.
func (k *Keys) Find(key string) *Key {
	if len(key) > maxKey {
		return nil
	}
	hash := HashOf(key)
	found := k.byHash[hash]
	if found == nil || subtle.ConstantTimeCompare(found.hash[:], hash[:]) == 0 {
		return nil
	}
	return &found.Key
}
