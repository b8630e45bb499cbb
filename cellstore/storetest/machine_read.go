package storetest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"

	"quadrille/cellstore"
)

func (m *machine) get(ctx context.Context, r cellstore.Reader, p *parser) (string, error) {
	key := p.row()
	o := p.options()
	found, err := r.Get(ctx, key, selection(&o), &m.row)
	return m.answer(found, err, &o)
}

func (m *machine) next(ctx context.Context, r cellstore.Reader, p *parser) (string, error) {
	o := p.options()
	found, err := r.Next(ctx, o.from, o.to, selection(&o), &m.row)
	return m.answer(found, err, &o)
}

func (m *machine) prev(ctx context.Context, r cellstore.Reader, p *parser) (string, error) {
	o := p.options()
	found, err := r.Prev(ctx, o.from, o.to, selection(&o), &m.row)
	return m.answer(found, err, &o)
}

// selection returns nil for a read without options, so that nil is tested as well.
func selection(o *readOptions) *cellstore.Selection {
	s := &o.scan.Selection
	_, _, timed := s.Time.Bounds()
	if len(s.Families)+len(s.Columns) == 0 && s.Filter.IsZero() && s.Versions == 0 && !timed {
		return nil
	}
	return s
}

func (m *machine) answer(found bool, err error, o *readOptions) (string, error) {
	switch {
	case err != nil && !m.row.Empty(), !found && m.row.Key != nil:
		return "", errors.Join(err, fmt.Errorf("found is %t, and the row still is %q", found, m.row.Key))
	case err != nil:
		return "", err
	case found == m.row.Empty():
		return "", fmt.Errorf("found is %t, with %d cells", found, len(m.row.Cells))
	case !found:
		return "none", nil
	}
	return formatRow(&m.row, o.noTime), nil
}

func (m *machine) nextEach(ctx context.Context, r cellstore.Reader, p *parser) (string, error) {
	o := p.options()
	rows := make([]cellstore.Row, len(o.families))
	if err := r.NextEach(ctx, o.from, o.to, o.families, rows); err != nil {
		return "", err
	}
	var lines []string
	for i := range rows {
		line := o.families[i] + ": none"
		if !rows[i].Empty() {
			line = o.families[i] + ": " + formatRow(&rows[i], o.noTime)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n"), nil
}

// multiGet reads ROW … ; options.
func (m *machine) multiGet(ctx context.Context, r cellstore.Reader, p *parser) (string, error) {
	var keys [][]byte
	for p.more() {
		keys = append(keys, p.row())
	}
	var o readOptions
	if p.accept(";") {
		o = p.options()
	}
	return collect(r.MultiGet(ctx, keys, selection(&o)), &o)
}

func (m *machine) scan(ctx context.Context, r cellstore.Reader, p *parser) (string, error) {
	o := p.options()
	got, err := collect(r.Scan(ctx, o.scan), &o)
	asked := o.scan.Clone()
	each, eachErr := collect(func(yield func(*cellstore.Row, error) bool) { cellstore.Each(ctx, r, &o.scan, yield) }, &o)
	eachText, scanText := fmt.Sprintf("%s, %v", each, eachErr), fmt.Sprintf("%s, %v", got, err)
	switch {
	case eachText != scanText:
		return "", fmt.Errorf("Each finds %s, and Scan %s", eachText, scanText)
	case !reflect.DeepEqual(asked, o.scan.Clone()):
		return "", fmt.Errorf("Each changes what it is asked from %v to %v", asked, o.scan)
	}
	return got, err
}

// parallel reads WORKERS options, and prints part after part.
func (m *machine) parallel(ctx context.Context, t cellstore.Table, p *parser) (string, error) {
	p.more()
	workers := p.count()
	o := p.options()
	parts := make([][]string, workers)
	err := cellstore.ParallelScan(ctx, t, workers, o.scan, func(_ context.Context, part int, row *cellstore.Row) error {
		parts[part] = append(parts[part], formatRow(row, o.noTime))
		return nil
	})
	lines := slices.Concat(parts...)
	if len(lines) == 0 {
		return "none", err
	}
	return strings.Join(lines, "\n"), err
}

func collect(rows iter.Seq2[*cellstore.Row, error], o *readOptions) (string, error) {
	var lines []string
	for row, err := range rows {
		if err != nil {
			return "", err
		}
		line := formatRow(row, o.noTime)
		if row.Empty() {
			line += " (none)"
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		return "none", nil
	}
	return strings.Join(lines, "\n"), nil
}
