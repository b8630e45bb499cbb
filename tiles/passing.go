package tiles

import (
	"cmp"
	"context"
	"slices"

	"quadrille/feature"
	"quadrille/tiles/internal/layout"
)

// Passing are the regions of a type that pass a filter; see Selector. It never changes, so any number of
// goroutines may use it.
type Passing struct {
	regions *regionNumbers
	bits    []uint64 // by region
}

// Bytes returns about the memory, without that of the type's regions.
func (p *Passing) Bytes() int64 { return 8 * int64(len(p.bits)) }

func (p *Passing) holds(region int) bool { return p.bits[region/64]>>(region%64)&1 == 1 }

// has reports whether the region with the number of a feature passes. All pass a nil Passing.
func (p *Passing) has(number uint64) bool {
	if p == nil {
		return true
	}
	region, ok := p.regions.find(number)
	return ok && p.holds(region)
}

// hasID does the same as has, for a region by its id.
func (p *Passing) hasID(typ string, id []byte) bool {
	return p == nil || p.has(layout.FeatureID(typ, string(id)))
}

// Passing returns the regions of a type that pass a filter of their properties and of joined columns. from
// identifies the state of joined: memory keeps the result for a state, and not for 0; see SetColumnBytes. A filter
// of numbers and booleans alone reads columns, and any other one reads the records of all regions, which is work
// for feature.RunHeavy. Errors match ErrUnknownType, errors.ErrUnsupported or feature.ErrTooMuchWork, or
// come from the store.
func (r *Reader) Passing(ctx context.Context, typ string, by feature.Filter, joined []*Column, from uint64) (*Passing, error) {
	rt := r.types[typ]
	if rt == nil {
		return nil, r.unknownType(typ)
	}
	if from == 0 {
		return r.findPassing(ctx, rt, by, joined)
	}
	cache, key := passingCache.Load(), columnsKey{rt.opened, from, by.String()}
	if p := cache.Get(key); p != nil {
		return p, nil
	}
	feature.Pause(ctx) // whoever finds them needs a processor
	return cache.Do(ctx, key, func() (*Passing, error) {
		shared, cancel := feature.SharedContext(ctx)
		defer cancel()
		return r.findPassing(shared, rt, by, joined)
	})
}

func (r *Reader) findPassing(ctx context.Context, rt *readerType, by feature.Filter, columns []*Column) (*Passing, error) {
	regions, err := r.numbers(ctx, rt)
	if err != nil {
		return nil, err
	}
	e, known := by.(*feature.Expression)
	if _, all := rt.about.Schema.ForIndex(by); !all {
		return nil, feature.Unsupported("tiles with a filter of areas: ask for a list of them")
	}
	for _, c := range columns {
		if c.cut && slices.Contains(e.Properties(), c.field.Name) {
			return nil, feature.Unsupported("tiles with a filter of %s, of which they have texts only to byte %d: ask for a list of its collection",
				c.field.Name, MaxColumnBytes)
		}
	}
	own, plain := rt.scalars(e, columns)
	if plain = plain && known; plain {
		more, err := r.Columns(ctx, rt.Name, own)
		if err != nil {
			return nil, err
		}
		columns = append(more, columns...)
	}
	p := &Passing{regions, make([]uint64, (regions.count+63)/64)}
	return p, feature.RunHeavy(ctx, func(ctx context.Context, step func(context.Context) error) error {
		var f, none feature.Feature
		var members []byte
		region := 0
		take := func(own *feature.Feature) error {
			f, members = *own, own.Properties.AppendMembers(members[:0])
			for _, c := range columns {
				if code := c.codes[region]; code > 0 {
					if len(members) > 0 {
						members = append(members, ',')
					}
					members = appendMember(members, c.field.Name, c.value(code))
				}
			}
			f.Properties = feature.CompactProperties(members)
			pass, err := by.Match(ctx, &f)
			if pass {
				p.bits[region/64] |= 1 << (region % 64)
			}
			region++
			return cmp.Or(err, step(ctx))
		}
		if !plain {
			return r.records(ctx, rt, take) // in the order of the numbers' regions
		}
		for range regions.count {
			if err := take(&none); err != nil {
				return err
			}
		}
		return nil
	})
}

// scalars returns the regions' own properties of a filter. ok is false if columns do not have their values as
// records do: texts are cut there, and there are no lists.
func (rt *readerType) scalars(e *feature.Expression, joined []*Column) (own []string, ok bool) {
	known := rt.ColumnFields()
	for _, name := range e.Properties() {
		if slices.ContainsFunc(joined, func(c *Column) bool { return c.field.Name == name }) {
			continue
		}
		switch f, _ := known.Lookup(name); f.Kind {
		case feature.Number, feature.Integer, feature.Boolean:
			own = append(own, name)
		default:
			return nil, false
		}
	}
	return own, true
}
