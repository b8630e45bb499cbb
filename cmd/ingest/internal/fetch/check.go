package fetch

import (
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"quadrille/internal/bom"
)

// Kind is the expected content of a file.
type Kind string

// These are the kinds of files.
const (
	Zip  Kind = "zip"  // whose members all unpack, with the checksums they carry
	Gzip Kind = "gzip" // unpacks and matches its checksum
	Text Kind = "text" // UTF-8, with at least one line feed, and no markup
)

// These bound the unpacked size of a file: a multiple of its size, but at least a certain minimum
// and never more than a maximum. Publishers' files unpack to at most ten times their size. A zip
// bomb unpacks to a thousand times its size, and to any size if an archive's members share bytes.
const (
	maxRatio      = 100
	alwaysUnpacks = 4 << 20
	maxUnpacked   = 64 << 30
)

// unpacks returns the largest size that a file of a size may unpack to, in bytes.
func unpacks(size int64) int64 {
	return min(max(size, 0)*maxRatio+alwaysUnpacks, maxUnpacked)
}

// parseChecksum reads the hexadecimal number a checksum file begins with. It has
// the length of a SHA-256 or an MD5.
func parseChecksum(b []byte) ([]byte, error) {
	fields := strings.Fields(string(b))
	if len(fields) > 0 {
		if sum, err := hex.DecodeString(fields[0]); err == nil && (len(sum) == sha256.Size || len(sum) == md5.Size) {
			return sum, nil
		}
	}
	return nil, fmt.Errorf("%w: the publisher's checksum is not one", ErrContent)
}

// check reads a file and returns an error if it is not of its kind. sum may be nil. If ended is
// set, text must end with a line feed.
func check(ctx context.Context, path string, kind Kind, sum []byte, ended bool) error {
	f, err := os.Open(path)
	if err != nil {
		return permanent(err)
	}
	defer f.Close()
	if sum != nil {
		h := sha256.New()
		if len(sum) == md5.Size {
			h = md5.New()
		}
		if _, err := io.Copy(h, reader{ctx, f}); err != nil {
			return err
		}
		if !bytes.Equal(h.Sum(nil), sum) {
			return fmt.Errorf("%w: its checksum is not the publisher's", ErrContent)
		}
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return err
		}
	}
	r := bufio.NewReaderSize(reader{ctx, f}, 64<<10)
	head, err := r.Peek(512)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if len(head) == 0 {
		return fmt.Errorf("%w: it is empty", ErrContent)
	}
	if markup(head) {
		return fmt.Errorf("%w: the server sent a web page in its place", ErrContent)
	}
	switch kind {
	case Zip:
		err = checkZip(ctx, f)
	case Gzip:
		err = checkGzip(r, f)
	default:
		err = checkText(r, ended)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// markup reports whether a file begins like HTML or XML.
func markup(head []byte) bool {
	head = bytes.TrimLeft(bom.Trim(head), " \t\r\n")
	if !bytes.HasPrefix(head, []byte("<")) {
		return false
	}
	head = bytes.ToLower(head)
	for _, begin := range []string{"<!doctype", "<html", "<head", "<body", "<?xml", "<!--", "<error"} {
		if bytes.HasPrefix(head, []byte(begin)) {
			return true
		}
	}
	return false
}

func checkZip(ctx context.Context, f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	z, err := zip.NewReader(f, info.Size())
	if err != nil {
		return fmt.Errorf("%w: %w", ErrContent, err)
	}
	if len(z.File) == 0 {
		return fmt.Errorf("%w: a zip archive of nothing", ErrContent)
	}
	most := unpacks(info.Size())
	left := most
	for _, m := range z.File {
		r, err := m.Open()
		if err != nil {
			return fmt.Errorf("%w: %q: %w", ErrContent, m.Name, err)
		}
		n, err := io.Copy(io.Discard, io.LimitReader(reader{ctx, r}, left+1))
		err = errors.Join(err, r.Close())
		if left -= n; left < 0 {
			return permanent(fmt.Errorf("%w: it unpacks to more than %d bytes, which no data does; look at it by hand", ErrContent, most))
		}
		if err != nil {
			return fmt.Errorf("%w: %q: %w", ErrContent, m.Name, err)
		}
	}
	return nil
}

func checkGzip(r io.Reader, f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	most := unpacks(info.Size())
	z, err := gzip.NewReader(r)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrContent, err)
	}
	n, err := io.Copy(io.Discard, io.LimitReader(z, most+1))
	if n > most {
		return permanent(fmt.Errorf("%w: it unpacks to more than %d bytes, which no data does; look at it by hand", ErrContent, most))
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrContent, err)
	}
	return nil
}

func checkText(r io.Reader, ended bool) error {
	lines := 0
	var rest int // bytes of a character that the block before began
	buf := make([]byte, 64<<10)
	for {
		n, err := io.ReadFull(r, buf[rest:])
		block := buf[:rest+n]
		lines += bytes.Count(block, []byte("\n"))
		if bytes.IndexByte(block, 0) >= 0 {
			return fmt.Errorf("%w: text holds no zero bytes", ErrContent)
		}
		end := len(block)
		if err == nil { // the last character may go on in the next block
			for i := 1; i < utf8.UTFMax && i <= end; i++ {
				if utf8.RuneStart(block[end-i]) {
					if !utf8.FullRune(block[end-i:]) {
						end -= i
					}
					break
				}
			}
		}
		if !utf8.Valid(block[:end]) {
			return fmt.Errorf("%w: it is not UTF-8 text", ErrContent)
		}
		rest = copy(buf, block[end:])
		if err == nil {
			continue
		}
		if !isEnd(err) {
			return err
		}
		if lines == 0 {
			return fmt.Errorf("%w: it has no lines", ErrContent)
		}
		if ended && !bytes.HasSuffix(block, []byte("\n")) {
			return fmt.Errorf("%w: it ends within a line", ErrContent)
		}
		return nil
	}
}

// reader is a reader that ends with its context.
type reader struct {
	ctx context.Context
	r   io.Reader
}

func (r reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}
