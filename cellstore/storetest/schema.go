package storetest

import (
	"fmt"
	"strings"
	"time"

	"quadrille/cellstore"
)

var schemaRules = []rule{
	{id: "M1", name: "bytes come back as written", script: `
create t f{versions=all}
put t "\x00" f:"\x00\xff"@0="\x00" f:"\xff"@max="\xff\xff"
put t "\xff\xff" f:"a b"@7="line\nend"
put t "é" f:"日本"@7="\"quotes\""
put t a f:""@7="" f:"\x00"@7=""
scan t versions=all
  "\x00" f:"\x00\xff"@0="\x00" f:"\xff"@max="\xff\xff"
  a f:""@7="" f:"\x00"@7=""
  "é" f:"日本"@7="\"quotes\""
  "\xff\xff" f:"a\x20b"@7="line\nend"
get t "\x00" f:"\x00\xff"
  "\x00" f:"\x00\xff"@0="\x00"
`},
	{id: "M1", name: "rows that are prefixes of others", script: `
create t f
put t a f:q@1=1
put t "a\x00" f:q@1=2
put t "a\x00\x00" f:q@1=3
put t "a\x00\x01" f:q@1=4
put t "a\x01" f:q@1=5
get t a
  a f:q@1=1
get t "a\x00"
  "a\x00" f:q@1=2
scan t
  a f:q@1=1
  "a\x00" f:q@1=2
  "a\x00\x00" f:q@1=3
  "a\x00\x01" f:q@1=4
  "a\x01" f:q@1=5
`},
	{id: "M2", name: "a row exists iff it has a visible cell", script: `
create t f g
put t r f:q@1="" g:""@1=x
get t r
  r f:q@1="" g:""@1=x
put t r -g:""<=all
get t r
  r f:q@1=""
get t r g:
  none
put t r -f:q<=all
get t r
  none
scan t
  none
`},
	{id: "S1", name: "families are declared, qualifiers appear", script: `
create t f
put t r f:new@1=x f:newer@1=y
get t r
  r f:new@1=x f:newer@1=y
put t r g:q=x
  error: 0=ErrFamilyNotFound
put t r -g<=all
  error: 0=ErrFamilyNotFound
get t r g:
  error: ErrFamilyNotFound
get t r f:new g:q
  error: ErrFamilyNotFound
next t g:
  error: ErrFamilyNotFound
prev t g:
  error: ErrFamilyNotFound
scan t g:
  error: ErrFamilyNotFound
nexteach t f: g:
  error: ErrFamilyNotFound
multiget t r ; g:
  error: ErrFamilyNotFound
incr t r g:n=1
  error: ErrFamilyNotFound
append t r g:n=1
  error: ErrFamilyNotFound
check t r g:q absent ; f:q=x
  error: ErrFamilyNotFound
check t r f:q absent ; g:q=x
  error: ErrFamilyNotFound
get t r
  r f:new@1=x f:newer@1=y
`},
	{id: "S1", name: "tables are declared", script: `
tables
  none
get t r
  error: ErrTableNotFound
put t r f:q=x
  error: ErrTableNotFound
compact t
  error: ErrTableNotFound
create t f
create T f
create t.2 f
tables
  T t t.2
put t r f:q@1=x
get T r
  none
`},
	{id: "S2", name: "names and numbers of families", run: testNames},
	{id: "S3", name: "defaults and bounds of options", script: `
create t f g{versions=3,min=2,ttl=10m} h{versions=all,min=9}
schema t
  f{versions=1,min=0,ttl=0s} g{versions=3,min=2,ttl=10m0s} h{versions=all,min=9,ttl=0s}
create bad f{versions=-2}
  error: ErrBadSchema
create bad f{min=2}
  error: ErrBadSchema
create bad f{min=-1}
  error: ErrBadSchema
create bad f{ttl=-1s}
  error: ErrBadSchema
create bad f{ttl=1500us}
  error: ErrBadSchema
create bad f{block=1}
  error: ErrBadSchema
tables
  t
`},
	{id: "S4", name: "hints change no answer", run: testHints},
	{id: "S5", name: "creating and dropping", script: `
create t f
put t r f:q@1=x
create t f
  error: ErrTableExists
create t f g
  error: ErrTableExists
get t r
  r f:q@1=x
drop t
tables
  none
get t r
  error: ErrTableNotFound
drop t
  error: ErrTableNotFound
alter t f
  error: ErrTableNotFound
create t f
get t r
  none
scan t
  none
put t s f:q@1=y
scan t
  s f:q@1=y
`},
	{id: "S5", name: "a dropped table's handle", run: testDroppedHandle},
	{id: "S5", name: "tighter versions hide at once", script: `
create t f{versions=5} g{versions=all}
put t r f:q@1=1 f:q@2=2 f:q@3=3 g:q@1=1 g:q@2=2
get t r versions=all
  r f:q@3=3 f:q@2=2 f:q@1=1 g:q@2=2 g:q@1=1
alter t f{versions=2} g{versions=1}
get t r versions=all
  r f:q@3=3 f:q@2=2 g:q@2=2
schema t
  f{versions=2,min=0,ttl=0s} g{versions=1,min=0,ttl=0s}
get t r time=[0,2)
  none
alter t f{versions=0} bad{versions=-7}
  error: ErrBadSchema
`},
	{id: "S5", name: "what tighter versions hid stays gone", needs: []need{eager}, script: `
create t f{versions=5}
put t r f:q@1=1 f:q@2=2 f:q@3=3
alter t f{versions=1}
put t r -f:q@3
get t r versions=all
  none
`},
	{id: "S5", name: "tighter ages hide at once", script: `
create t f{versions=all}
put t r f:q@now-10m=10 f:q@now-6m=6 f:q@now-1m=1
alter t f{versions=all,ttl=8m}
get t r versions=all notime
  r f:q=1 f:q=6
alter t f{versions=all,ttl=3m,min=2}
get t r versions=all notime
  r f:q=1 f:q=6
alter t f{versions=all,ttl=3m}
get t r versions=all notime
  r f:q=1
`},
	// Whether loosening brings back @1 is not asserted.
	{id: "S5", name: "looser options keep what comes", script: `
create t f
put t r f:q@1=1 f:q@2=2
alter t f{versions=3}
put t r f:q@3=3
put t r f:q@4=4
get t r versions=all
  r f:q@4=4 f:q@3=3 f:q@2=2
`},
	{id: "S5", name: "families come and go", script: `
create t f g
put t r f:q@1=x g:q@1=y
put t s g:q@1=z
alter t f h a
get t r
  r f:q@1=x
scan t
  r f:q@1=x
get t r g:
  error: ErrFamilyNotFound
put t r h:q@1=h a:q@1=a
get t r
  r a:q@1=a f:q@1=x h:q@1=h
alter t f g h a
get t r
  r a:q@1=a f:q@1=x h:q@1=h
get t s
  none
put t s g:q@2=new
get t s versions=all
  s g:q@2=new
`},
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
	// Each family holds data of its own.
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
