package points

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"time"

	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/liveclient"
	"quadrille/feature"
	"quadrille/internal/extsort"
	"quadrille/internal/jsontext"
	"quadrille/places/points"
)

const reasonRefused = "the server refuses it"

// IntoLive reads files of points as Ingest does and writes them into a live
// collection, which it makes if there is none. It writes nothing unless all files
// could be read. Points that are not in the files stay.
func IntoLive(ctx context.Context, of Collection, paths []string, to liveclient.Target, o job.Options) (err error) {
	j := &pointsJob{ctx: ctx, rep: o.ReporterOrSilent(), of: of, types: of.Types, tally: job.NewTally(o.MaxBad), near: func(*points.Point) string { return "" }}
	to.Note = j.rep.Note
	client := liveclient.New(to)
	there, err := client.Exists(ctx)
	if err != nil {
		return err
	}
	if there {
		if j.types, err = typesThere(ctx, client, of.Types); err != nil {
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
	s, err := j.spool(o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.file.Close()) }()
	if !there {
		meta := points.Meta{Title: of.Title, Attribution: of.Credit.Attribution, Licence: of.Credit.License, Private: of.Private, Schema: of.Types}
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
	j.rep.Note(fmt.Sprintf("wrote %d points into the live collection %s, %d a second; %d were refused; points that the files lack stay",
		written, of.Name, int64(float64(written)/max(took.Seconds(), 1e-3)), refused))
	return nil
}

// typesThere returns the types of a live collection that exists, overridden by those in
// told. Values of another type would spoil the type for all.
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

// spooled is a file of the features to be written. Before each stand its place in the
// input and its length.
type spooled struct {
	file  *os.File
	count int64
	read  time.Time // when all files had been read
}

// spoolMargin is more bytes than one feature has.
const spoolMargin = feature.MaxPropertiesBytes + 8<<10

// spoolHead is how many bytes a sorted point has before its properties: its line, latitude,
// longitude and when it expires, 8 bytes each.
const spoolHead = 32

// appendSorted appends a point as it is sorted by its id.
func appendSorted(dst []byte, p *points.Point) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(p.Line))
	dst = binary.BigEndian.AppendUint64(dst, math.Float64bits(p.Lat))
	dst = binary.BigEndian.AppendUint64(dst, math.Float64bits(p.Lon))
	expires := int64(0)
	if !p.Expires.IsZero() {
		expires = p.Expires.UnixMilli()
	}
	dst = binary.BigEndian.AppendUint64(dst, uint64(expires))
	return append(dst, p.Properties...)
}

// appendFeature appends a sorted point as GeoJSON, with properties instead of its own.
func appendFeature(dst []byte, id string, sorted, properties []byte) []byte {
	dst = jsontext.AppendString(append(dst, `{"type":"Feature","id":`...), id)
	dst = append(dst, `,"geometry":{"type":"Point","coordinates":[`...)
	dst = strconv.AppendFloat(dst, math.Float64frombits(binary.BigEndian.Uint64(sorted[16:])), 'f', -1, 64)
	dst = append(dst, ',')
	dst = strconv.AppendFloat(dst, math.Float64frombits(binary.BigEndian.Uint64(sorted[8:])), 'f', -1, 64)
	dst = append(append(dst, `]},"properties":`...), properties...)
	if expires := int64(binary.BigEndian.Uint64(sorted[24:])); expires != 0 {
		dst = time.UnixMilli(expires).UTC().AppendFormat(append(dst, `,"expires":"`...), time.RFC3339Nano+`"`)
	}
	return append(dst, '}')
}

// spool reads all files. Only then are types known, so what is to be sent waits on disk.
func (j *pointsJob) spool(o job.Options) (s *spooled, err error) {
	sorter := extsort.NewBytes(j.dir, o.MemoryLimit()/4)
	defer func() { err = errors.Join(err, sorter.Close()) }()
	learner := feature.NewLearner(j.types)
	learn := learner.Learn
	if j.tables() {
		learn = learner.LearnText
	}
	var value []byte
	err = j.read(func(p points.Point) error {
		learner.At = p.Line
		learn(p.Properties)
		value = appendSorted(value[:0], &p)
		return sorter.Add([]byte(p.ID), value)
	})
	if err != nil {
		return nil, err
	}
	if err := j.learned(learner); err != nil {
		return nil, err
	}
	meta := points.Meta{Schema: learner.Schema()}
	j.note(&meta)
	s = &spooled{}
	if s.file, err = os.CreateTemp(j.dir, "features-*"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			s.file.Close()
		}
	}()
	out := bufio.NewWriterSize(s.file, 1<<20)
	var last, properties, text, head []byte
	first := true
	err = sorter.Each(func(id, value []byte) error {
		at := int64(binary.BigEndian.Uint64(value))
		if !first && bytes.Equal(id, last) {
			return j.duplicate(string(id), at)
		}
		first, last = false, append(last[:0], id...)
		var err error
		if properties, err = meta.Schema.Convert(properties[:0], value[spoolHead:]); err != nil {
			return fmt.Errorf("point %q: %w", id, err)
		}
		text = appendFeature(text[:0], string(id), value, properties)
		head = binary.AppendUvarint(binary.AppendUvarint(head[:0], uint64(at)), uint64(len(text)))
		if _, err := out.Write(head); err != nil {
			return err
		}
		if _, err := out.Write(text); err != nil {
			return err
		}
		if s.count++; s.count%job.ProgressRows == 0 {
			return j.ctx.Err()
		}
		return nil
	})
	if err == nil {
		err = out.Flush()
	}
	if err == nil {
		_, err = s.file.Seek(0, io.SeekStart)
	}
	s.read = time.Now()
	return s, err
}

// send writes what was spooled.
func (j *pointsJob) send(client *liveclient.Client, s *spooled) (written, refused int64, err error) {
	in := bufio.NewReaderSize(s.file, 1<<20)
	answered := func(l *liveclient.Line, refusal string) error {
		if refusal == "" {
			written++
			return nil
		}
		refused++
		return j.leaveOut(l.At, reasonRefused, refusal)
	}
	var batch []liveclient.Line
	size := 0
	for n := range s.count {
		l, err := nextSpooled(in)
		if err != nil {
			return written, refused, err
		}
		batch, size = append(batch, l), size+len(l.Text)
		if len(batch) < liveclient.MaxLines && size < liveclient.MaxBytes-spoolMargin && n < s.count-1 {
			continue
		}
		if err := client.Write(j.ctx, batch, answered); err != nil {
			return written, refused, err
		}
		batch, size = batch[:0], 0
		j.rep.Progress(job.Progress{Stage: "writing points", Done: written + refused, Total: s.count, Unit: "points"})
	}
	return written, refused, nil
}

func nextSpooled(in *bufio.Reader) (l liveclient.Line, err error) {
	at, err := binary.ReadUvarint(in)
	if err != nil {
		return l, err
	}
	n, err := binary.ReadUvarint(in)
	if err != nil {
		return l, err
	}
	l = liveclient.Line{At: int64(at), Text: make([]byte, n)}
	_, err = io.ReadFull(in, l.Text)
	return l, err
}
