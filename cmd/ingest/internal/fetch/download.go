package fetch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"quadrille/cmd/internal/retryafter"
)

// state is stored beside a downloaded file: its address and the server's validators of this
// version.
type state struct {
	URL      string    `json:"url"`
	ETag     string    `json:"etag,omitempty"`
	Modified time.Time `json:"last_modified,omitzero"`
	Answered time.Time `json:"answered,omitzero"` // by the server's clock
	Bytes    int64     `json:"bytes,omitempty"`   // of the whole file; 0: unknown

	// open is set if only the end of the connection marks the end of the file.
	open bool
}

// These are suffixes of the files next to NAME: the downloaded part of its next version, and the
// states of both.
const (
	partSuffix  = ".part"
	stateSuffix = ".state"
)

// download is a running download of a file.
type download struct {
	*Client
	file File
	path string
}

func (d *download) part() string { return d.path + partSuffix }

func (d *download) partSize() int64 {
	info, err := os.Stat(d.part())
	if err != nil {
		return 0
	}
	return info.Size()
}

// strong returns a validator whose equality means equal bytes, or "" if there is none. A date
// qualifies only if the answer came at least a minute later. Then the file was not changing at that
// time.
func (s *state) strong() string {
	if s.ETag != "" {
		if strings.HasPrefix(s.ETag, "W/") {
			return ""
		}
		return s.ETag
	}
	if !s.Modified.IsZero() && s.Answered.Sub(s.Modified) >= time.Minute {
		return s.Modified.UTC().Format(http.TimeFormat)
	}
	return ""
}

// attempt requests the file once.
func (d *download) attempt(ctx context.Context) (Result, error) {
	got, err := d.transfer(ctx)
	if err != nil {
		return Result{}, err
	}
	if got == nil {
		info, err := os.Stat(d.path)
		if err != nil {
			return Result{}, permanent(err)
		}
		return Result{Path: d.path, Bytes: info.Size(), Unchanged: true}, nil
	}
	return d.finish(ctx, *got)
}

// transfer completes the part and returns the state to store, or nil if the file has not changed.
func (d *download) transfer(ctx context.Context) (*state, error) {
	ctx, alive, stop := d.watched(ctx)
	defer stop()
	req, err := d.request(ctx, d.file, d.file.URL)
	if err != nil {
		return nil, err
	}
	// A part of a file is useful only if the server can confirm that the rest belongs to the same
	// version.
	begun, offset := d.load(d.part()), d.partSize()
	validator := begun.strong()
	if offset == 0 || validator == "" {
		offset = 0
	} else {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", offset))
		req.Header.Set("If-Range", validator)
	}
	kept := d.load(d.path)
	info, err := os.Stat(d.path)
	asked := offset == 0 && err == nil && kept.Bytes == info.Size() && (kept.ETag != "" || !kept.Modified.IsZero())
	if asked {
		if kept.ETag != "" {
			req.Header.Set("If-None-Match", kept.ETag)
		}
		if !kept.Modified.IsZero() {
			req.Header.Set("If-Modified-Since", kept.Modified.UTC().Format(http.TimeFormat))
		}
	}
	res, err := d.http.Do(req)
	if err != nil {
		return nil, cause(ctx, err)
	}
	defer res.Body.Close()
	alive()
	switch res.StatusCode {
	case http.StatusNotModified:
		if !asked {
			return nil, errors.New("the server answered 304 to a question without a condition")
		}
		return nil, nil
	case http.StatusOK:
		offset, begun = 0, answered(d.file.URL, res)
		begun.Bytes = max(res.ContentLength, 0)
		begun.open = res.ContentLength < 0 && res.ProtoMajor == 1 && len(res.TransferEncoding) == 0
	case http.StatusPartialContent:
		next := answered(d.file.URL, res)
		first, total, err := contentRange(res.Header.Get("Content-Range"))
		if err == nil && (offset == 0 || first != offset || begun.Bytes > 0 && total > 0 && total != begun.Bytes ||
			next.strong() != "" && next.strong() != validator) {
			err = errors.New("the server sent another part of the file than it was asked for")
		}
		if err != nil {
			return nil, errors.Join(err, d.discard())
		}
		begun.Bytes = max(total, begun.Bytes)
	case http.StatusRequestedRangeNotSatisfiable:
		return nil, errors.Join(errors.New("the server has fewer bytes than were downloaded before"), d.discard())
	default:
		return nil, refusal(res)
	}
	if err := d.receive(ctx, alive, res.Body, offset, begun); err != nil {
		return nil, err
	}
	return &begun, nil
}

// answered returns the version of the file that a response describes.
func answered(url string, res *http.Response) state {
	s := state{URL: url, ETag: res.Header.Get("ETag")}
	s.Modified, _ = http.ParseTime(res.Header.Get("Last-Modified")) // zero when missing or not a date
	s.Answered, _ = http.ParseTime(res.Header.Get("Date"))
	return s
}

// refusal returns the error for a status other than success.
func refusal(res *http.Response) error {
	switch res.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return permanent(fmt.Errorf("the server answered %s; check the account and its key, and that the licence was accepted", res.Status))
	case http.StatusNotFound, http.StatusGone:
		return permanent(fmt.Errorf("the server answered %s; the publisher may have moved the file: fetch it by hand and "+
			"name it, or give a --mirror", res.Status))
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests,
		http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		after := retryafter.Parse(res.Header)
		if after > longestRetryAfter {
			return permanent(fmt.Errorf("the server answered %s and asks to come back in %v; run it again then", res.Status, after))
		}
		return &retryAfterError{status: res.Status, after: after}
	}
	return permanent(fmt.Errorf("the server answered %s, which is no answer to a download; look at the address in a browser", res.Status))
}

// contentRange reads "bytes 5-9/10"; total is 0 if it is not known.
func contentRange(text string) (first, total int64, err error) {
	spec, ok := strings.CutPrefix(text, "bytes ")
	span, size, ok2 := strings.Cut(spec, "/")
	from, to, ok3 := strings.Cut(span, "-")
	a, err1 := strconv.ParseInt(from, 10, 64)
	b, err2 := strconv.ParseInt(to, 10, 64)
	var err3 error
	if size != "*" {
		total, err3 = strconv.ParseInt(size, 10, 64)
	}
	if !ok || !ok2 || !ok3 || err1 != nil || err2 != nil || err3 != nil || a < 0 || b < a || size != "*" && b != total-1 {
		return 0, 0, fmt.Errorf("the server sent a part under the odd heading %q", text)
	}
	return a, total, nil
}

// receive appends the body to the part, whose first offset bytes are valid.
func (d *download) receive(ctx context.Context, alive func(), body io.Reader, offset int64, s state) (err error) {
	if s.Bytes > d.file.MaxBytes {
		return permanent(fmt.Errorf("%w: %d bytes, of this file at most %d are; check the address", ErrTooLarge, s.Bytes, d.file.MaxBytes))
	}
	if free, ok := d.free(d.dir); ok && s.Bytes-offset > 0 && uint64(s.Bytes-offset) > free {
		return permanent(fmt.Errorf("%w: %d bytes are missing and %d free in %s; make room there, or choose another --downloads",
			ErrSpace, s.Bytes-offset, free, d.dir))
	}
	out, err := os.OpenFile(d.part(), os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return permanent(err)
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if err := errors.Join(out.Truncate(offset), d.save(d.part(), s)); err != nil {
		return permanent(err)
	}
	if _, err := out.Seek(offset, io.SeekStart); err != nil {
		return permanent(err)
	}
	done := offset
	d.o.Progress(d.file.Name, done, s.Bytes)
	buf := make([]byte, 64<<10)
	for {
		n, err := body.Read(buf)
		if n > 0 {
			alive()
			if done += int64(n); done > d.file.MaxBytes {
				return errors.Join(permanent(fmt.Errorf("%w: of this file at most %d bytes are; check the address", ErrTooLarge,
					d.file.MaxBytes)), d.discard())
			}
			if err := d.count(int64(n)); err != nil {
				return err
			}
			if _, err := out.Write(buf[:n]); err != nil {
				return permanent(fmt.Errorf("%w; make room there, or choose another --downloads", err))
			}
			d.o.Progress(d.file.Name, done, s.Bytes)
		}
		switch {
		case errors.Is(err, io.EOF) && s.Bytes > 0 && done != s.Bytes:
			return fmt.Errorf("the download ended after %d of %d bytes", done, s.Bytes)
		case errors.Is(err, io.EOF):
			return permanentIf(out.Sync())
		case err != nil:
			return cause(ctx, fmt.Errorf("the download broke off after %d bytes: %w", done, err))
		}
	}
}

func permanentIf(err error) error {
	if err == nil {
		return nil
	}
	return permanent(err)
}

// finish checks the download and gives it the file's name.
func (d *download) finish(ctx context.Context, s state) (Result, error) {
	info, err := os.Stat(d.part())
	if err != nil {
		return Result{}, permanent(err)
	}
	s.Bytes = info.Size()
	want, err := d.checksum(ctx, d.file)
	if err != nil {
		return Result{}, err
	}
	if err := check(ctx, d.part(), d.file.Kind, want, s.open); err != nil {
		// Whatever kind of file it is, nothing can be appended to it.
		return Result{}, errors.Join(err, d.discard())
	}
	if !s.Modified.IsZero() {
		// Readers use the modification time of the file as the date of the data.
		if err := os.Chtimes(d.part(), s.Modified, s.Modified); err != nil {
			return Result{}, permanent(err)
		}
	}
	unchanged := same(d.path, d.part())
	// Without a state, the next request for the file has no condition. So the program may be
	// stopped at any of these steps.
	if err := remove(d.path + stateSuffix); err != nil {
		return Result{}, permanent(err)
	}
	if err := errors.Join(os.Rename(d.part(), d.path), d.save(d.path, s), remove(d.part()+stateSuffix)); err != nil {
		return Result{}, permanent(err)
	}
	return Result{Path: d.path, Bytes: s.Bytes, Unchanged: unchanged}, nil
}

// same reports whether two files hold the same bytes. A server without conditional requests sends
// the same file again.
func same(a, b string) bool {
	x, err := os.Open(a)
	if err != nil {
		return false
	}
	defer x.Close()
	y, err := os.Open(b)
	if err != nil {
		return false
	}
	defer y.Close()
	p, q := make([]byte, 64<<10), make([]byte, 64<<10)
	for {
		n, err1 := io.ReadFull(x, p)
		m, err2 := io.ReadFull(y, q)
		if n != m || !bytes.Equal(p[:n], q[:m]) {
			return false
		}
		if err1 != nil || err2 != nil {
			return isEnd(err1) && isEnd(err2)
		}
	}
}

func isEnd(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

// load reads the state of a file. It returns nothing if that is missing,
// unreadable or of another address.
func (d *download) load(path string) state {
	b, err := os.ReadFile(path + stateSuffix)
	var s state
	if err != nil || json.Unmarshal(b, &s) != nil || s.URL != d.file.URL || strings.ContainsAny(s.ETag, "\r\n") {
		return state{}
	}
	return s
}

func (d *download) save(path string, s state) error {
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	tmp := filepath.Join(d.dir, "."+filepath.Base(path)+stateSuffix)
	return errors.Join(os.WriteFile(tmp, append(b, '\n'), 0o644), os.Rename(tmp, path+stateSuffix))
}

// discard removes the partial file.
func (d *download) discard() error {
	return errors.Join(remove(d.part()+stateSuffix), remove(d.part()))
}

func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
