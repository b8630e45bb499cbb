package hbasestore

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math"
	"math/big"
	"net"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"quadrille/cellstore"
	"quadrille/cellstore/hbasestore/internal/thrift2"
	"quadrille/internal/must"
)

// TestTransports sends calls to gateways with every transport.
func TestTransports(t *testing.T) {
	t.Parallel()
	cert, roots := testCertificate(t)
	for name, cfg := range map[string]thrift2.Config{
		"buffered":        {},
		"buffered tls":    {TLS: &tls.Config{}},
		"compact":         {Compact: true},
		"framed":          {Framed: true},
		"framed compact":  {Framed: true, Compact: true},
		"http":            {HTTP: "/gateway"},
		"http compact":    {HTTP: "/", Compact: true},
		"https, password": {HTTP: "/", TLS: &tls.Config{}, Header: http.Header{"Authorization": {"Basic eA=="}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := cfg
			if cfg.TLS != nil {
				cfg.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
				client.TLS = &tls.Config{RootCAs: roots}
			}
			h := newModelHBase(t, "test", nil)
			f := newFake(t, cfg, h)
			r := &rig{fakes: []*fake{f}}
			if cfg.Framed { // tables are made elsewhere
				plain := newFake(t, thrift2.Config{}, h)
				new(rig).open(t, Options{Gateways: []string{plain.addr}, Namespace: "test"})
			}
			r.open(t, Options{
				Gateways:        []string{f.addr},
				Namespace:       "test",
				FramedTransport: client.Framed,
				CompactProtocol: client.Compact,
				HTTPPath:        client.HTTP,
				Header:          client.Header,
				TLS:             client.TLS,
			})
			for range 2 {
				for _, op := range operations {
					if err := op.run(t.Context(), r.table); err != nil {
						t.Errorf("%s: %v", op.name, err)
					}
				}
			}
		})
	}
	t.Run("a stranger's certificate", func(t *testing.T) {
		f := newFake(t, thrift2.Config{TLS: &tls.Config{Certificates: []tls.Certificate{cert}}}, newModelHBase(t, "test", nil))
		_, err := Open(t.Context(), Options{Gateways: []string{f.addr}, Namespace: "test", TLS: &tls.Config{}, Tries: 2})
		if err == nil {
			t.Error("it was trusted")
		}
	})
}

func testCertificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must.Do(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	must.Do(t, err)
	c, err := x509.ParseCertificate(der)
	must.Do(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(c)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

// TestEncoding tests that the fields of calls match hbase.thrift of HBase 2.6.
func TestEncoding(t *testing.T) {
	t.Parallel()
	column := func(f, q string) object { return object{1: f, 2: q} }
	sync := int32(3)
	q := []byte("q")
	row := []byte("r")
	mutate := func(ops ...cellstore.Op) func(context.Context, cellstore.Table) error {
		return func(ctx context.Context, t cellstore.Table) error {
			return t.Apply(ctx, cellstore.Mutation{Row: row, Ops: ops})
		}
	}
	get := func(sel cellstore.Selection) func(context.Context, cellstore.Table) error {
		return func(ctx context.Context, t cellstore.Table) error {
			var into cellstore.Row
			_, err := t.Get(ctx, row, &sel, &into)
			return err
		}
	}
	for _, c := range []struct {
		name, method string
		run          func(context.Context, cellstore.Table) error
		want         object // without field 1, the table
	}{
		{"get", "get", get(cellstore.Selection{}), object{2: object{1: "r", 5: int32(1)}}},
		{"get a column", "get", get(cellstore.Selection{Columns: []cellstore.Column{{Family: "f", Qualifier: q}}}),
			object{2: object{1: "r", 2: []any{column("f", "q")}, 5: int32(1)}}},
		{"get a family", "get", get(cellstore.Selection{Families: []string{"f"}, Versions: 2}),
			object{2: object{1: "r", 2: []any{object{1: "f"}}, 5: int32(1)}}}, // of the 2 asked for
		{"get the empty column", "get", get(cellstore.Selection{Columns: []cellstore.Column{{Family: "f"}}}),
			object{2: object{1: "r", 2: []any{column("f", "\x00")}, 5: int32(1)}}},
		{"put", "put", mutate(cellstore.PutAt("f", q, 7, []byte("v"))),
			object{2: object{1: "r", 2: []any{object{1: "f", 2: "q", 3: "v", 4: int64(7)}}, 6: sync}}},
		{"put now", "put", mutate(cellstore.Put("f", q, []byte("v"))),
			object{2: object{1: "r", 2: []any{object{1: "f", 2: "q", 3: "v"}}, 6: sync}}},
		{"delete a version", "deleteSingle", mutate(cellstore.DeleteVersion("f", q, 7)),
			object{2: object{1: "r", 2: []any{object{1: "f", 2: "q", 3: int64(7)}}, 4: int32(0), 7: sync}}},
		{"delete a column", "deleteSingle", mutate(cellstore.DeleteColumn("f", q, 7)),
			object{2: object{1: "r", 2: []any{object{1: "f", 2: "q", 3: int64(7)}}, 4: int32(1), 7: sync}}},
		{"delete a family", "deleteSingle", mutate(cellstore.DeleteFamily("f", 7)),
			object{2: object{1: "r", 2: []any{object{1: "f", 3: int64(7)}}, 4: int32(2), 7: sync}}},
		// HBase's own delete of this kind must not be used; see versionAt.
		{"delete a version of a family", "deleteSingle", func(ctx context.Context, t cellstore.Table) error {
			if err := mutate(cellstore.PutAt("f", nil, 7, nil), cellstore.PutAt("f", q, 7, nil))(ctx, t); err != nil {
				return err
			}
			return mutate(cellstore.DeleteFamilyVersion("f", 7))(ctx, t)
		}, object{2: object{
			1: "r",
			2: []any{object{1: "f", 2: "\x00", 3: int64(7)}, object{1: "f", 2: "q", 3: int64(7)}},
			4: int32(0),
			7: sync,
		}}},
		{"delete a version that no column has", "get", mutate(cellstore.DeleteFamilyVersion("f", 7)),
			object{2: object{1: "r", 2: []any{object{1: "f"}}, 5: int32(1)}}}, // there is one
		{"delete a row", "deleteSingle", mutate(cellstore.DeleteRow(7)),
			object{2: object{1: "r", 3: int64(7), 4: int32(0), 7: sync}}},
		{"deletes", "mutateRow", mutate(cellstore.DeleteColumn("f", q, 7), cellstore.DeleteRow(7)),
			object{2: object{1: "r", 2: []any{
				object{2: object{1: "r", 2: []any{object{1: "f", 2: "q", 3: int64(7)}}, 4: int32(1), 7: sync}},
				object{2: object{1: "r", 3: int64(7), 4: int32(0), 7: sync}}}}}},
		{"increment", "increment", operations[7].run,
			object{2: object{1: "r", 2: []any{object{1: "f", 2: "n", 3: int64(1)}}, 5: sync, 7: true}}},
		{"append", "append", operations[8].run,
			object{2: object{1: "r", 2: []any{object{1: "f", 2: "a", 3: "x"}}, 4: sync, 6: true}}},
		{"check", "checkAndMutate", operations[9].run,
			object{2: "r", 3: "f", 4: "c", 5: int32(2), 6: "", 7: object{1: "r", 2: []any{
				object{1: object{1: "r", 2: []any{object{1: "f", 2: "c", 3: "v", 4: int64(1)}}, 6: sync}}}}}},
		{"multiget", "getMultiple", operations[3].run, object{2: []any{object{1: "r", 5: int32(1)}}}},
		{"next", "getScannerResults", operations[1].run,
			object{2: object{1: "r", 2: "", 4: int32(1), 5: int32(1), 14: int32(3), 15: int32(1)}, 3: int32(1)}},
		{"prev", "getScannerResults", func(ctx context.Context, t cellstore.Table) error {
			var into cellstore.Row
			_, err := t.Prev(ctx, row, []byte("a"), nil, &into)
			return err
		}, object{2: object{1: "r", 2: "a", 4: int32(1), 5: int32(1), 11: true, 14: int32(3), 15: int32(1)}, 3: int32(1)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 1, nil)
			r.answers()
			must.Do(t, c.run(t.Context(), r.table))
			calls := r.fakes[0].calls
			last := calls[len(calls)-1]
			if text(last.args, 1) != "test:t" {
				t.Errorf("it is for table %q", text(last.args, 1))
			}
			delete(last.args, 1)
			if last.method != c.method || !reflect.DeepEqual(last.args, c.want) {
				t.Errorf("%s %v\nwant %s %v", last.method, last.args, c.method, c.want)
			}
		})
	}
}

// TestEncodingOfSchemas tests the encoded declaration of a table.
func TestEncodingOfSchemas(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, func(o *Options) { o.NoCompression = false })
	r.answers()
	schema := cellstore.Schema{Table: "s", Families: []cellstore.Family{
		{
			Name:        "a",
			MaxVersions: cellstore.Unlimited,
			Bloom:       cellstore.BloomRowCol,
			Compression: cellstore.CompressionZstd,
			BlockSize:   1024,
			InMemory:    true,
		},
		{Name: "b", MaxVersions: 3, MinVersions: 1, TTL: time.Hour, Bloom: cellstore.BloomNone, Compression: cellstore.CompressionNone},
	}}
	must.Do(t, r.CreateSplitTable(t.Context(), schema, [][]byte{[]byte("m")}))
	calls := r.fakes[0].calls
	last := calls[len(calls)-1]
	d := child(last.args, 1)
	if last.method != "createTable" || !reflect.DeepEqual(d[1], object{1: "test", 2: "s"}) || !reflect.DeepEqual(last.args[2], []any{"m"}) {
		t.Fatalf("%s %v", last.method, last.args)
	}
	families := items(d, 2)
	behaves := map[any]any{"NEW_VERSION_BEHAVIOR": "true"}
	want := []object{
		{
			1:  "a",
			2:  behaves,
			4:  int32(1024),
			5:  int32(1),
			6:  int32(6),
			10: int32(math.MaxInt32),
			11: int32(0),
			13: int32(math.MaxInt32),
			20: true,
		},
		{
			1:  "b",
			2:  map[any]any{"NEW_VERSION_BEHAVIOR": "true", "CELLSTORE_MAX_VERSIONS": "3"},
			4:  families[1][4],
			5:  int32(0),
			6:  int32(2),
			10: int32(34),
			11: int32(1),
			13: int32(3600),
			20: false,
		},
	}
	if !reflect.DeepEqual(families, want) {
		t.Errorf("%v\nwant %v", families, want)
	}
}

// TestAlter tests that the table keeps attributes that other programs have set in the cluster. A
// family that ever had a higher limit of versions never gets the limit 1 in HBase.
func TestAlter(t *testing.T) {
	t.Parallel()
	s := newRig(t, 1, nil).Store
	now := &thrift2.Table{
		Attributes: map[string]string{"OWNER": "somebody"},
		Families: []thrift2.Family{
			{Name: "other", MaxVersions: 9},
			{Name: "f", MaxVersions: 1, Attributes: map[string]string{"DATA_BLOCK_ENCODING": "PREFIX", "MIN_VERSIONS": "300"},
				Configuration: map[string]string{"hbase.hstore.compaction.min": "7"}},
		},
	}
	for _, step := range []struct {
		most     int
		versions int32
		limit    string
	}{
		{1, 1, ""}, {3, 34, "3"}, {2, 33, "2"}, {1, 32, "1"}, {cellstore.Unlimited, math.MaxInt32, ""}, {1, 32, "1"},
	} {
		schema := cellstore.Schema{Table: "alter", Families: []cellstore.Family{{Name: "f", MaxVersions: step.most}}}
		d, err := s.describe(schema, now)
		must.Do(t, err)
		f := d.Families[0]
		if len(d.Families) != 1 || f.MaxVersions != step.versions || f.Attributes[maxVersions] != step.limit {
			t.Errorf("%d versions: %+v", step.most, d.Families)
		}
		if f.Attributes["DATA_BLOCK_ENCODING"] != "PREFIX" || f.Attributes[newVersionBehavior] != "true" || d.Attributes["OWNER"] != "somebody" ||
			f.Configuration["hbase.hstore.compaction.min"] != "7" || f.Attributes["MIN_VERSIONS"] != "" {
			t.Errorf("%d versions: attributes %v of the table, %v of the family", step.most, d.Attributes, f.Attributes)
		}
		if back := fromHBase(&f); back.MaxVersions != step.most {
			t.Errorf("%d versions are read as %d", step.most, back.MaxVersions)
		}
		now = d
	}
}

// TestRefusedTables tests that tables that would make HBase answer wrongly or hang are not opened.
// The error says how to repair them.
func TestRefusedTables(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, nil)
	for name, spoil := range map[string]func(family object){
		"NEW_VERSION_BEHAVIOR": func(f object) { f[2] = map[any]any{} },
		"major_compact":        func(f object) { f[5] = int32(2) }, // ROWCOL
	} {
		must.Do(t, r.CreateTable(t.Context(), cellstore.Schema{Table: name, Families: []cellstore.Family{{Name: "f"}}}))
		calls := r.fakes[0].calls
		spoil(items(child(calls[len(calls)-1].args, 1), 2)[0])
		if _, err := r.Table(t.Context(), name); err == nil || !strings.Contains(err.Error(), name) ||
			errors.Is(err, cellstore.ErrTableNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
