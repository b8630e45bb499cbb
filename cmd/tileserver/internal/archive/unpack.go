package archive

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"quadrille/cmd/internal/pmtiles"
)

// Coding is a compression of bytes.
type Coding uint8

// These are codings of tiles, directories and metadata.
const (
	Uncompressed Coding = iota
	Gzip
	Brotli
	Zstd
	Zlib // of old MBTiles
)

// codingOf returns the coding that a PMTiles header names, or false if the number is unknown.
func codingOf(c pmtiles.Compression) (Coding, bool) {
	switch c {
	case pmtiles.NoCompression:
		return Uncompressed, true
	case pmtiles.Gzip:
		return Gzip, true
	case pmtiles.Brotli:
		return Brotli, true
	case pmtiles.Zstd:
		return Zstd, true
	}
	return Uncompressed, false
}

// packing returns the coding of a tile by its first bytes. Brotli has no magic bytes, and no vector
// tile begins with the magic bytes of another coding.
func packing(b []byte) Coding {
	switch {
	case bytes.HasPrefix(b, []byte{0x1f, 0x8b}):
		return Gzip
	case bytes.HasPrefix(b, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return Zstd
	case len(b) > 2 && b[0] == 0x78 && (uint(b[0])<<8|uint(b[1]))%31 == 0:
		return Zlib
	}
	return Uncompressed
}

// maxWindow bounds the window, in bytes, that a packed tile may make the decoder allocate.
const maxWindow = 16 << 20

// Unpack returns the unpacked bytes of src; the result may be src itself. If there are more than
// most bytes, or src cannot be unpacked, it reports the archive as damaged.
func Unpack(src []byte, c Coding, most int) ([]byte, error) {
	var r io.Reader
	var err error
	in := bytes.NewReader(src)
	switch c {
	case Uncompressed:
		if len(src) > most {
			return nil, tooLarge(most)
		}
		return src, nil
	case Gzip:
		r, err = gzip.NewReader(in)
	case Zlib:
		r, err = zlib.NewReader(in)
	case Brotli:
		r = brotli.NewReader(in)
	case Zstd:
		d, derr := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		if derr == nil {
			defer d.Close()
		}
		r, err = d, derr
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	var out bytes.Buffer
	out.Grow(min(4*len(src), most))
	switch n, err := io.Copy(&out, io.LimitReader(r, int64(most)+1)); {
	case err != nil && errors.Is(err, zstd.ErrWindowSizeExceeded):
		return nil, tooLarge(most)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	case n > int64(most):
		return nil, tooLarge(most)
	}
	return out.Bytes(), nil
}

func tooLarge(most int) error {
	return fmt.Errorf("%w: more than %d bytes come out of it", ErrDamaged, most)
}
