package recipes

import (
	"context"
	"fmt"
	"slices"

	"quadrille/cellstore"
)

func schema(table string, families ...cellstore.Family) cellstore.Schema {
	return cellstore.Schema{Table: table, Families: families}
}

// recipe makes a Recipe of a check that is handed its tables open.
func recipe(name string, check func(context.Context, *verdict, []cellstore.Table, *Clock), schemas ...cellstore.Schema) Recipe {
	return Recipe{Name: name, Schemas: schemas, Check: func(ctx context.Context, s cellstore.Store, clock *Clock) error {
		tables := make([]cellstore.Table, len(schemas))
		for i := range schemas {
			var err error
			if tables[i], err = s.Table(ctx, schemas[i].Table); err != nil {
				return err
			}
		}
		var v verdict
		check(ctx, &v, tables, clock)
		return v.err
	}}
}

// verdict keeps the first failure that a check finds.
type verdict struct{ err error }

func (v *verdict) ok(err error) {
	if v.err == nil {
		v.err = err
	}
}

func (v *verdict) is(what string, got, want bool, err error) {
	v.list(what, []string{fmt.Sprint(got)}, err, fmt.Sprint(want))
}

// list compares answers in order, set in any.
func (v *verdict) list(what string, got []string, err error, want ...string) {
	if err != nil {
		v.ok(fmt.Errorf("%s: %w", what, err))
	} else if !slices.Equal(got, want) {
		v.ok(fmt.Errorf("%s: got %q, want %q", what, got, want))
	}
}

func (v *verdict) set(what string, got []string, err error, want ...string) {
	slices.Sort(got)
	slices.Sort(want)
	v.list(what, got, err, want...)
}

func oneColumn(family, qualifier string) *cellstore.Selection {
	return &cellstore.Selection{Columns: []cellstore.Column{{Family: family, Qualifier: []byte(qualifier)}}}
}
