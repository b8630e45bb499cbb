package pebblestore

import (
	"context"
	"os"
	"testing"

	"quadrille/cellstore"
)

func TestSolo(t *testing.T) {
	mode := os.Getenv("SOLO")
	if mode == "" {
		t.Skip()
	}
	b := &testing.B{}
	_ = b
	bt := openBench(nil, 1000)
	var buf []byte
	for range 20000 {
		switch mode {
		case "raw":
			from := rawPrefix(nil, bt.table.fams[0].byte, benchKey, 0)
			bt.it.SeekGE(from)
			for range 1000 {
				buf = append(buf[:0], bt.it.Key()...)
				buf = append(buf, must(bt.it.ValueAndErr())...)
				benchSink += len(buf)
				bt.it.Next()
			}
		case "scan":
			for row, err := range bt.table.Scan(context.Background(), cellstore.Scan{Selection: *one}) {
				must(0, err)
				benchSink += len(row.Cells[0].Value)
			}
		}
	}
}
