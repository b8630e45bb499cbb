package geoip

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strings"

	"quadrille/internal/bom"
)

// Accounts are the accounts and keys that may use the GeoIP2 endpoints. It is
// safe for concurrent use.
type Accounts struct {
	byAccount map[string][][sha256.Size]byte
}

// maxKeys bounds a file of keys, in bytes.
const maxKeys = 16 << 20

// ReadAccounts reads a line for each key. An account may have several keys:
//
//	ACCOUNT:SHA256
//
// SHA256 is the hexadecimal hash of the key, as sha256sum prints it. The hash is fast, so that
// requests cost little. Therefore it protects only random keys from a generator, not words that
// people have chosen. Empty lines and lines that begin with # are skipped. Errors give the number
// of the line and never its text.
func ReadAccounts(r io.Reader) (*Accounts, error) {
	k := &Accounts{byAccount: make(map[string][][sha256.Size]byte)}
	limited := &io.LimitedReader{R: bom.Skip(bufio.NewReader(r)), N: maxKeys + 1}
	lines := bufio.NewScanner(limited)
	for n := 1; lines.Scan(); n++ {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		account, sum, _ := strings.Cut(string(line), ":")
		account, sum = strings.TrimSpace(account), strings.TrimSpace(sum)
		var hash [sha256.Size]byte
		if _, err := hex.Decode(hash[:], []byte(sum)[:min(len(sum), hex.EncodedLen(len(hash)))]); err != nil ||
			account == "" || len(sum) != hex.EncodedLen(len(hash)) {
			return nil, fmt.Errorf("line %d is not ACCOUNT:SHA256; make the hash of a key with: printf %%s KEY | sha256sum", n)
		}
		k.byAccount[account] = append(k.byAccount[account], hash)
	}
	switch err := lines.Err(); {
	case err != nil:
		return nil, err
	case limited.N == 0:
		return nil, fmt.Errorf("it is over %d bytes", maxKeys)
	case len(k.byAccount) == 0:
		return nil, fmt.Errorf("it has no keys, so nobody could use the service; write a line ACCOUNT:SHA256 for each")
	}
	return k, nil
}

// check returns an error unless a request has a valid key. The time that it takes reveals neither
// keys nor whether the account exists.
func (k *Accounts) check(r *http.Request) error {
	account, key, ok := r.BasicAuth()
	switch {
	case !ok:
		return errNoAuth
	case account == "":
		return errNoAccount
	case key == "":
		return errNoKey
	}
	given := sha256.Sum256([]byte(key))
	hashes := k.byAccount[account]
	var none [1][sha256.Size]byte
	known := len(hashes) > 0
	if !known {
		hashes = none[:]
	}
	equal := 0
	for i := range hashes {
		equal |= subtle.ConstantTimeCompare(given[:], hashes[i][:])
	}
	if equal == 0 || !known {
		return errNoAuth
	}
	return nil
}
