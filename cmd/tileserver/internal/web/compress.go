package web

import (
	"bytes"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Coding is the content coding that is negotiated with the client. Its numbers are part of ETags.
type Coding uint8

const (
	Identity Coding = iota // as it is
	gzipped
	zstded
	brotlied
	codingCount
)

// contentEncodings has the values of Content-Encoding for a header map.
var contentEncodings = [codingCount][]string{gzipped: {"gzip"}, zstded: {"zstd"}, brotlied: {"br"}}

// compressFrom is the size in bytes from which bodies are compressed. Below this size the overhead
// of the coding and the client's work exceed the saving.
const compressFrom = 1 << 10

// effort is the compression level. Cached answers justify a higher level, because they are sent
// often.
type effort uint8

const (
	once effort = iota
	kept
)

// A preference is the order among codings to which a client gives the same weight.
//
// Tiles and lists of the demo, 1 MB in all, on one core: br 5 compresses them to 40 % at 17 MB/s,
// zstd "better" to 45 % at 49 MB/s, gzip 7 to 46 % at 32 MB/s. For answers that are sent once, zstd
// "fastest" gives 52 % at 177 MB/s, br 1 52 % at 59 MB/s, gzip 2 54 % at 116 MB/s. Therefore cached
// answers, which are made once and sent often, use br; the others use zstd.
type preference struct {
	order  []Coding
	modern Coding // of "gzip, deflate, br, zstd"
	usual  Coding // of "gzip, deflate, br"
}

var (
	preferKept = preference{[]Coding{brotlied, zstded, gzipped}, brotlied, brotlied}
	preferOnce = preference{[]Coding{zstded, gzipped, brotlied}, zstded, gzipped}
	// preferStream is the preference for answers that are written gradually while the request
	// arrives.
	preferStream = preference{[]Coding{gzipped}, gzipped, gzipped}
)

// AcceptedCoding returns the coding for an answer that is sent once.
func AcceptedCoding(r *http.Request) Coding { return preferOnce.Of(r) }

// AcceptedCacheCoding returns the coding for an answer that is cached.
func AcceptedCacheCoding(r *http.Request) Coding { return preferKept.Of(r) }

// TakesCoding reports whether the client accepts the coding that an answer already has.
func TakesCoding(r *http.Request, c Coding) bool { return c == Identity || takes[c].Of(r) == c }

// takes has the preferences for only one coding.
var takes = [codingCount]preference{
	gzipped:  preferStream,
	zstded:   {[]Coding{zstded}, zstded, Identity},
	brotlied: {[]Coding{brotlied}, brotlied, brotlied},
}

// Of returns the coding with the greatest weight in Accept-Encoding, and among equals the preferred
// one. A client that accepts none of our codings still gets identity, because an answer that it
// possibly cannot read is better than none.
func (p *preference) Of(r *http.Request) Coding {
	values := r.Header["Accept-Encoding"]
	if len(values) == 0 {
		return Identity
	}
	if len(values) == 1 {
		switch values[0] { // the values that clients and browsers really send
		case "gzip, deflate, br, zstd":
			return p.modern
		case "gzip, deflate, br":
			return p.usual
		case "gzip":
			return gzipped
		}
	}
	// The weight -1 means that the header does not name the coding.
	weights := [codingCount]float64{-1, -1, -1, -1}
	star := -1.0
	for _, v := range values {
		for len(v) > 0 {
			var item string
			item, v, _ = strings.Cut(v, ",")
			name, params, _ := strings.Cut(item, ";")
			w := &star
			if name = strings.TrimSpace(name); name != "*" {
				c, known := codingNamed(name)
				if !known {
					continue
				}
				w = &weights[c]
			}
			if *w < 0 {
				*w = min(max(QValue(params), 0), 1)
			}
		}
	}
	// "*" means any other coding; it counts as gzip, which every client supports.
	if weights[gzipped] < 0 {
		weights[gzipped] = star
	}
	best, greatest := Identity, max(weights[Identity], 0)
	for _, c := range p.order {
		if w := weights[c]; w > 0 && (w > greatest || w == greatest && best == Identity) {
			best, greatest = c, w
		}
	}
	return best
}

// CodingNamed returns the coding with a name in headers, or identity if there is none.
func CodingNamed(name string) Coding {
	c, _ := codingNamed(name)
	return c
}

func codingNamed(name string) (Coding, bool) {
	switch {
	case strings.EqualFold(name, "gzip"), strings.EqualFold(name, "x-gzip"):
		return gzipped, true
	case strings.EqualFold(name, "br"):
		return brotlied, true
	case strings.EqualFold(name, "zstd"):
		return zstded, true
	case strings.EqualFold(name, "identity"):
		return Identity, true
	}
	return 0, false
}

// brotliWindow, and zstdWindow in bytes, are enough for the largest tiles, and
// keep the memory of a coder within a few megabytes.
const (
	brotliWindow = 20 // 1 MiB
	zstdWindow   = 1 << 20
)

var (
	gzipWriters   = [...]*sync.Pool{once: gzipPool(2), kept: gzipPool(7)}
	brotliWriters = [...]*sync.Pool{once: brotliPool(1), kept: brotliPool(5)}
	zstdEncoders  = [...]func() *zstd.Encoder{once: zstdEncoder(zstd.SpeedFastest), kept: zstdEncoder(zstd.SpeedBetterCompression)}
)

func gzipPool(level int) *sync.Pool {
	return &sync.Pool{New: func() any {
		w, err := gzip.NewWriterLevel(nil, level)
		if err != nil {
			panic(err) // the levels above are in range
		}
		return w
	}}
}

func brotliPool(quality int) *sync.Pool {
	return &sync.Pool{New: func() any {
		return brotli.NewWriterOptions(nil, brotli.WriterOptions{Quality: quality, LGWin: brotliWindow})
	}}
}

// zstdEncoder returns a function that makes an encoder at its first call. The encoder has as many
// coders as there are processors, and requests wait for a free one.
func zstdEncoder(level zstd.EncoderLevel) func() *zstd.Encoder {
	return sync.OnceValue(func() *zstd.Encoder {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(level), zstd.WithWindowSize(zstdWindow),
			zstd.WithEncoderConcurrency(runtime.GOMAXPROCS(0)), zstd.WithEncoderCRC(false))
		if err != nil {
			panic(err) // the options are in range
		}
		return e
	})
}

// compress appends src in a coding other than identity to dst. Writing to a
// buffer does not fail.
func compress(dst *bytes.Buffer, src []byte, c Coding, e effort) {
	switch c {
	case gzipped:
		w := gzipWriters[e].Get().(*gzip.Writer)
		w.Reset(dst)
		writeAll(w, src)
		w.Reset(nil) // holds on to nothing
		gzipWriters[e].Put(w)
	case brotlied:
		w := brotliWriters[e].Get().(*brotli.Writer)
		w.Reset(dst)
		writeAll(w, src)
		w.Reset(nil)
		brotliWriters[e].Put(w)
	case zstded:
		dst.Grow(len(src)/2 + 64)
		dst.Write(zstdEncoders[e]().EncodeAll(src, dst.AvailableBuffer()))
	default:
		dst.Write(src)
	}
}

func writeAll(w io.WriteCloser, src []byte) {
	_, _ = w.Write(src)
	_ = w.Close()
}
