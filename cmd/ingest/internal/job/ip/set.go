package ip

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"time"

	"quadrille/cellstore/dataset"
	"quadrille/cmd/ingest/internal/iprecord"
	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/geolite"
	"quadrille/cmd/ingest/internal/source/ipcsv"
)

// setSource is a GeoLite2 CSV set: one source of several files.
type setSource struct {
	in   Input
	set  *geolite.Set
	read int64 // bytes of the members read to their ends
}

// openSetSource opens a set. The parameter memory is the limit of the whole program, in bytes. The
// places of the set must fit in a quarter of it. All of them stay in memory, because a network may
// refer to any place.
func openSetSource(in Input, memory int64) (*setSource, error) {
	set, err := geolite.Open(in.OnDisk())
	if err != nil {
		return nil, err
	}
	set.Path = in.Path
	if need := set.PlacesMemory(); need > memory/4 {
		return nil, errors.Join(fmt.Errorf("%s: the names of its places take about %d MiB of memory, a quarter of what is "+
			"needed in all; give --memory %dMiB, or remove the Locations files of languages that nobody asks for",
			in.Path, need>>20+1, need>>18+1), set.Close())
	}
	return &setSource{in: in, set: set}, nil
}

func (s *setSource) path() string { return s.in.Path }
func (s *setSource) kind() string {
	if len(s.set.Locations) == 0 {
		return fmt.Sprintf("CSV set of %s", s.set.Product)
	}
	return fmt.Sprintf("CSV set of %s, names in %d languages", s.set.Product, len(s.set.Locations))
}

func (s *setSource) members() []*geolite.Member { return slices.Concat(s.set.Locations, s.set.Blocks) }

func (s *setSource) size() (n int64) {
	for _, m := range s.members() {
		n += m.Size()
	}
	return n
}

func (s *setSource) done() int64  { return s.read }
func (s *setSource) close() error { return s.set.Close() }

func (s *setSource) modified() time.Time {
	switch {
	case !s.in.Released.IsZero():
		return s.in.Released
	case !s.set.Released.IsZero():
		return s.set.Released
	}
	return s.set.Modified()
}

func (s *setSource) describe(ctx context.Context) ([]dataset.Source, error) {
	var files []string // an archive is one
	for _, m := range slices.Concat(s.set.Blocks, s.set.Locations) {
		if m.Path != "" {
			files = append(files, m.Path)
		}
	}
	if files == nil {
		files = []string{s.in.OnDisk()}
	}
	in := s.in.Input
	in.Credit = in.WithDefaults(productCredit(s.set.Product))
	list := make([]dataset.Source, len(files))
	for i, file := range files {
		src, err := dataset.FileSource(ctx, file)
		if err != nil {
			return nil, err
		}
		if file == s.in.Copy {
			src.File = filepath.Base(s.in.Path)
		}
		src.Name, src.Modified = s.set.Product, s.modified()
		list[i] = in.Complete(src)
	}
	return list, nil
}

func (s *setSource) ranges(c *converter) iter.Seq2[ipRange, error] {
	return func(yield func(ipRange, error) bool) {
		stopped := errors.New("stopped")
		failed := func(err error) bool {
			if err != nil && !errors.Is(err, stopped) {
				yield(ipRange{}, err)
			}
			return err != nil
		}
		var places *geolite.Places
		if len(s.set.Locations) > 0 {
			places = geolite.NewPlaces()
			for _, m := range s.set.Locations {
				err := s.locations(m, places, func(bad *source.BadRecord) error {
					if !yield(ipRange{}, bad) {
						return stopped
					}
					return nil
				})
				if failed(err) {
					return
				}
			}
			places.Resolve()
		}
		for _, m := range s.set.Blocks {
			err := s.blocks(m, places, c, func(r ipRange, err error) error {
				if !yield(r, err) {
					return stopped
				}
				return nil
			})
			if failed(err) {
				return
			}
		}
	}
}

func (s *setSource) locations(m *geolite.Member, places *geolite.Places, bad func(*source.BadRecord) error) error {
	f, err := m.Open()
	if err != nil {
		return err
	}
	defer f.Close()
	err = places.Read(f, m.Label(), bad)
	s.read += m.Size()
	return err
}

func (s *setSource) blocks(m *geolite.Member, places *geolite.Places, c *converter, each func(ipRange, error) error) error {
	f, err := m.Open()
	if err != nil {
		return err
	}
	defer f.Close()
	t, err := ipcsv.Open(f, m.Label(), nil)
	if err != nil {
		return err
	}
	refers := slices.Contains(t.Columns(), ipcsv.Place)
	if refers && places == nil {
		return fmt.Errorf("%s: the set has no file called …-Locations-en.csv, which its networks refer to; fetch the set again", s.in.Path)
	}
	cols, err := iprecord.NewColumns(t.Columns(), places)
	if err != nil {
		return fmt.Errorf("%s: %w", m.Label(), err)
	}
	for r, err := range listRanges(t, cols, m.Label(), c) {
		if err := each(r, err); err != nil {
			return err
		}
	}
	s.read += m.Size()
	return nil
}
