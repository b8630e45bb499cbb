package storetest

import (
	"fmt"
	"strings"
	"time"

	"quadrille/cellstore"
)

var schemaRules = []rule{
	{id: "S2", name: "names and numbers of families", run: testNames},
	{id: "S4", name: "hints change no answer", run: testHints},
	{id: "S5", name: "a dropped table's handle", run: testDroppedHandle},
}

func testNames(e *env) {
	ok := []string{"t", "T_1", "_", "0", "a.b-c", "z" + strings.Repeat("x", 63), "LOCK"}
	bad := []string{"", ".t", "-t", "t/u", "t u", "t\x00", "ü", ".", "..", "t/", "../tables/t", strings.Repeat("x", 65), "t\n"}
	fam := []cellstore.Family{{Name: "f"}}
	for i, name := range ok {
		if err := e.store.CreateTable(e.ctx, cellstore.Schema{Table: name, Families: fam}); err != nil {
			e.Errorf("table %q: %v", name, err)
		}
		s := cellstore.Schema{Table: fmt.Sprint("family", i), Families: []cellstore.Family{{Name: name}}}
		if err := e.store.CreateTable(e.ctx, s); err != nil {
			e.Errorf("family %q: %v", name, err)
		}
	}
	for _, name := range bad {
		e.wantErr(fmt.Sprintf("table %q", name),
			e.store.CreateTable(e.ctx, cellstore.Schema{Table: name, Families: fam}), cellstore.ErrBadSchema)
		e.wantErr(fmt.Sprintf("family %q", name),
			e.store.CreateTable(e.ctx, cellstore.Schema{Table: "bad", Families: []cellstore.Family{{Name: name}}}), cellstore.ErrBadSchema)
		_, err := e.store.Table(e.ctx, name)
		e.wantErr(fmt.Sprintf("opening table %q", name), err, cellstore.ErrTableNotFound)
	}
	var many []cellstore.Family
	for i := range cellstore.MaxFamilies {
		many = append(many, cellstore.Family{Name: fmt.Sprint("f", i)})
	}
	e.ok(e.store.CreateTable(e.ctx, cellstore.Schema{Table: "many", Families: many}))
	for _, fams := range [][]cellstore.Family{nil, append(many, cellstore.Family{Name: "more"}), {{Name: "f"}, {Name: "f"}}} {
		e.wantErr(fmt.Sprintf("%d families", len(fams)),
			e.store.CreateTable(e.ctx, cellstore.Schema{Table: "bad", Families: fams}), cellstore.ErrBadSchema)
	}
	// Each family has data of its own.
	e.must("put many r f0:q@1=first f63:q@1=last f9:q@1=nine")
	e.script(`
get many r
  r f0:q@1=first f63:q@1=last f9:q@1=nine
get many r f63:
  r f63:q@1=last
get many r f10:
  none
`)
}

func testHints(e *env) {
	var want string
	for i, f := range []cellstore.Family{
		{},
		{Bloom: cellstore.BloomNone, Compression: cellstore.CompressionNone, BlockSize: 1 << 10},
		{Bloom: cellstore.BloomRowCol, Compression: cellstore.CompressionZstd, BlockSize: 64 << 10, InMemory: true},
	} {
		f.Name, f.MaxVersions, f.TTL = "f", 2, time.Hour
		s := cellstore.Schema{Table: fmt.Sprint("t", i), Families: []cellstore.Family{f, {Name: "g", Bloom: cellstore.BloomNone}}}
		e.ok(e.store.CreateTable(e.ctx, s))
		for r := range 50 {
			e.must(fmt.Sprintf("put %s row%d f:q@now-2s=%d f:q@now-1s=%d g:%d@1=%s", s.Table, r, r, r+1, r, strings.Repeat("x", r*10)))
		}
		e.must("compact " + s.Table)
		e.ok(e.reopen())
		got := e.ask("scan "+s.Table+" versions=all notime") + e.ask("get "+s.Table+" row7 notime") + e.ask("get "+s.Table+" row")
		if i > 0 && got != want {
			e.Errorf("hints %+v change the answer:\n%s\nwant\n%s", f, got, want)
		}
		want = got
		inForce := e.table(s.Table).Schema()
		if _, err := inForce.Normalize(); err != nil {
			e.Errorf("the schema in force: %v", err)
		}
		if len(inForce.Families) != 2 || inForce.Families[0].MaxVersions != 2 || inForce.Families[0].TTL != time.Hour {
			e.Errorf("the schema in force is %+v", inForce)
		}
	}
}

func testDroppedHandle(e *env) {
	e.must("create t f")
	e.must("put t r f:q@1=x")
	t := e.table("t")
	e.must("drop t")
	var row cellstore.Row
	_, err := t.Get(e.ctx, []byte("r"), nil, &row)
	e.wantErr("Get", err, cellstore.ErrTableNotFound)
	e.wantErr("Scan", e.yieldErr(t.Scan(e.ctx, cellstore.Scan{})), cellstore.ErrTableNotFound)
	e.wantErr("Apply", t.Apply(e.ctx, put("r", "f", "q", "x")), cellstore.ErrTableNotFound)
	_, err = t.Increment(e.ctx, cellstore.Increment{Row: []byte("r"), Deltas: []cellstore.Delta{{Family: "f", By: 1}}}, nil)
	e.wantErr("Increment", err, cellstore.ErrTableNotFound)
	_, err = t.Splits(e.ctx, 1)
	e.wantErr("Splits", err, cellstore.ErrTableNotFound)
}
