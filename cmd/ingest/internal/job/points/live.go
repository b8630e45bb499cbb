package points

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"math"
	"os"
	"slices"
	"time"

	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/liveclient"
	"quadrille/feature"
	"quadrille/internal/jsontext"
	"quadrille/places/live"
	"quadrille/places/points"
	"quadrille/quadkey"
)

const reasonRefused = "the server refuses it"

// IntoLive reads files of points like Ingest and writes them into a live collection. It makes the
// collection if it is missing. It writes nothing unless all files could be read. It writes all
// records in their order. So the last one of several records with the same id counts. Points that
// are not in the files stay, unless of.Replace is set: then they are removed after all others have
// been written, if nothing of the files was left out.
func IntoLive(ctx context.Context, of Collection, paths []string, to liveclient.Target, o job.Options) (err error) {
	j := newJob(ctx, of, o)
	to.OnRetry = j.rep.Note
	client := liveclient.New(to)
	there, err := client.Exists(ctx)
	if err != nil {
		return err
	}
	if there {
		if j.types, err = typesThere(ctx, client, of.PropertyTypes); err != nil {
			return err
		}
	}
	if j.dir, err = os.MkdirTemp("", "quadrille-points-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(j.dir)) }()
	defer func() { j.tally.Report(j.rep) }()
	if err := j.open(paths); err != nil {
		return err
	}
	s, err := j.spool()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.file.Close()) }()
	lacking := &lackingPoints{}
	if of.Replace && there {
		if lacking, err = j.findLacking(client, s, o.MaxChange); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, lacking.file.Close()) }()
	}
	if !there {
		meta := live.Meta{Title: of.Title, Attribution: of.Credit.Attribution, Licence: of.Credit.License,
			Private: of.Private, Schema: of.PropertyTypes}
		if err := client.Create(ctx, &meta); err != nil {
			return err
		}
		j.rep.Note(fmt.Sprintf("made the live collection %s, which was not there", of.Name))
	} else if of.Title != "" || of.Private || of.Credit != (job.Credit{}) {
		j.rep.Note("the collection is there already: its title, attribution, licence and who may see it stay as they are")
	}
	written, refused, err := j.send(client, s)
	if err != nil {
		if written > 0 {
			err = fmt.Errorf("%w; %d points were written before and stay, and the same command writes all again", err, written)
		}
		return err
	}
	took := time.Since(s.read)
	text := fmt.Sprintf("wrote %d points into the live collection %s, %d a second; %d were refused; ", written, of.Name,
		int64(float64(written)/max(took.Seconds(), 1e-3)), refused)
	switch {
	case !of.Replace:
		j.rep.Note(text + "points that the files lack stay")
		return nil
	case refused > 0 && lacking.count > 0:
		return fmt.Errorf("%sso none of the %d points that the files lack was removed: correct those that were refused, and run it again",
			text, lacking.count)
	}
	removed, changed, err := j.remove(client, lacking)
	if err != nil {
		return fmt.Errorf("%w; %d of %d points that the files lack were removed before, and the same command removes the others", err,
			removed, lacking.count)
	}
	text += fmt.Sprintf("removed %d points that the files lack", removed)
	if changed > 0 {
		text += fmt.Sprintf("; %d more stay, for they were written meanwhile", changed)
	}
	j.rep.Note(text)
	return nil
}

// typesThere returns the types of an existing live collection, unless the user gives others.
// Without them, values of another type would change the type for the whole collection.
func typesThere(ctx context.Context, client *liveclient.Client, told feature.Schema) (feature.Schema, error) {
	types, err := client.Schema(ctx)
	if err != nil {
		return nil, err
	}
	types = slices.DeleteFunc(types, func(f feature.Field) bool {
		_, is := told.Lookup(f.Name)
		return is || f.Kind == feature.Any
	})
	return feature.NewSchema(append(types, told...))
}

// spooled is a file of the points that will be written, in the order of the input. Each is preceded
// by its length.
type spooled struct {
	file   *os.File
	schema feature.Schema
	count  int64
	read   time.Time // when all files had been read
	ids    []uint64  // sorted hashes of all ids, if those that the files lack are removed
}

// spoolMargin is greater than the size in bytes of any feature.
const spoolMargin = feature.MaxPropertiesBytes + 8<<10

// spoolHead is the number of bytes before a spooled point's id: its line, latitude, longitude and
// expiry time, 8 bytes each, and the length of the id, 2 bytes.
const spoolHead = 34

// appendSpooled appends a point. Its properties come last.
func appendSpooled(dst []byte, p *points.Point) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(p.Line))
	dst = binary.BigEndian.AppendUint64(dst, math.Float64bits(p.Lat))
	dst = binary.BigEndian.AppendUint64(dst, math.Float64bits(p.Lon))
	expires := int64(0)
	if !p.Expires.IsZero() {
		expires = p.Expires.UnixMilli()
	}
	dst = binary.BigEndian.AppendUint64(dst, uint64(expires))
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(p.ID)))
	return append(append(dst, p.ID...), p.Properties...)
}

// appendFeature appends a spooled point as GeoJSON, with the types of a schema.
func appendFeature(dst, spooled []byte, schema feature.Schema) ([]byte, error) {
	properties := spoolHead + int(binary.BigEndian.Uint16(spooled[spoolHead-2:]))
	dst = jsontext.AppendString(append(dst, `{"type":"Feature","id":`...), string(spooled[spoolHead:properties]))
	dst = feature.AppendPosition(append(dst, `,"geometry":{"type":"Point","coordinates":`...), quadkey.Position{
		Lat: math.Float64frombits(binary.BigEndian.Uint64(spooled[8:])), Lon: math.Float64frombits(binary.BigEndian.Uint64(spooled[16:])),
	})
	dst, err := schema.Convert(append(dst, `},"properties":`...), spooled[properties:])
	if err != nil {
		return nil, err
	}
	if expires := int64(binary.BigEndian.Uint64(spooled[24:])); expires != 0 {
		dst = time.UnixMilli(expires).UTC().AppendFormat(append(dst, `,"expires":"`...), time.RFC3339Nano+`"`)
	}
	return append(dst, '}'), nil
}

// spool reads all files. The types of properties are known only after that, so the points are
// stored on disk until then.
func (j *pointsJob) spool() (s *spooled, err error) {
	s = &spooled{}
	file, err := os.CreateTemp(j.dir, "features-*")
	if err != nil {
		return nil, err
	}
	s.file = file
	defer func() {
		if err != nil {
			_ = file.Close() // its directory is removed with it
		}
	}()
	learner := feature.NewLearner(j.types)
	learn := learner.Learn
	if j.tables() {
		learn = learner.LearnText
	}
	out := bufio.NewWriterSize(s.file, 1<<20)
	var value, size []byte
	err = j.read(func(p points.Point) error {
		learner.At = p.Line
		learn(p.Properties)
		value = appendSpooled(value[:0], &p)
		size = binary.AppendUvarint(size[:0], uint64(len(value)))
		s.count++
		if j.of.Replace {
			s.ids = append(s.ids, maphash.String(idSeed, p.ID))
		}
		_, err := out.Write(size)
		if err == nil {
			_, err = out.Write(value)
		}
		return err
	})
	if err == nil {
		err = j.learned(learner)
	}
	if err == nil {
		err = out.Flush()
	}
	if err == nil {
		_, err = s.file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, err
	}
	s.schema, s.read = learner.Schema(), time.Now()
	slices.Sort(s.ids)
	j.note(&live.Meta{Schema: s.schema})
	return s, nil
}

// send writes the spooled points.
func (j *pointsJob) send(client *liveclient.Client, s *spooled) (written, refused int64, err error) {
	in := bufio.NewReaderSize(s.file, 1<<20)
	err = j.writeLines(client, "writing points", s.count, func() (liveclient.Line, error) {
		l, err := s.next(in)
		if errors.Is(err, feature.ErrProperties) {
			refused++
			return liveclient.Line{}, j.leaveOut(l.SourcePosition, reasonProperties, err.Error())
		}
		return l, err
	}, func(l *liveclient.Line, refusal string) error {
		if refusal == "" {
			written++
			return nil
		}
		refused++
		return j.leaveOut(l.SourcePosition, reasonRefused, refusal)
	})
	return written, refused, err
}

// writeLines writes count lines in batches. It leaves out lines without a text.
func (j *pointsJob) writeLines(client *liveclient.Client, stage string, count int64, next func() (liveclient.Line, error),
	answered func(l *liveclient.Line, refusal string) error) error {
	var batch []liveclient.Line
	size := 0
	for n := range count {
		l, err := next()
		if err != nil {
			return err
		}
		if l.Text != nil {
			batch, size = append(batch, l), size+len(l.Text)
		}
		if len(batch) < liveclient.MaxLines && size < liveclient.MaxBytes-spoolMargin && n < count-1 || len(batch) == 0 {
			continue
		}
		if err := client.Write(j.ctx, batch, answered); err != nil {
			return err
		}
		batch, size = batch[:0], 0
		j.rep.Progress(job.Progress{Stage: stage, Done: n + 1, Total: count, Unit: "points"})
	}
	return nil
}

// next reads the next point. An error that matches feature.ErrProperties concerns only that point.
func (s *spooled) next(in *bufio.Reader) (l liveclient.Line, err error) {
	n, err := binary.ReadUvarint(in)
	if err != nil {
		return l, err
	}
	value := make([]byte, n)
	if _, err = io.ReadFull(in, value); err != nil {
		return l, err
	}
	l.SourcePosition = int64(binary.BigEndian.Uint64(value))
	l.Text, err = appendFeature(nil, value, s.schema)
	return l, err
}
