package pebblestore

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"quadrille/cellstore"
	"quadrille/internal/testseed"
)

const killWriters = 8

// TestKill kills a writing process at a random moment, many times over, and checks the store:
// counters are not below their acknowledged values, and the families of a row agree.
func TestKill(t *testing.T) {
	if dir := os.Getenv("PEBBLESTORE_KILL_DIR"); dir != "" {
		writeUntilKilled(dir)
	}
	random := testseed.Rand(t)
	rounds := 5
	if os.Getenv("QUADRILLE_FULL") != "" {
		rounds = 60
	}
	dir := t.TempDir()
	s := must(Open(dir, nil))
	must(0, s.CreateTable(ctx, cellstore.Schema{Table: "t", Families: []cellstore.Family{{Name: "f"}, {Name: "g", MaxVersions: 2}}}))
	must(0, s.Close())
	var total int64
	for round := range rounds {
		acked := killWriter(t, dir, time.Duration(20+random.IntN(180))*time.Millisecond)
		s := must(Open(dir, nil))
		tab := must(s.Table(ctx, "t"))
		for w, least := range acked {
			counters, rows := killState(t, tab, w)
			if counters < least[0] || rows < least[1] {
				t.Fatalf("round %d, writer %d: counter %d, row %d; acknowledged were %d", round, w, counters, rows, least)
			}
			total += least[0]
		}
		must(0, s.Close())
	}
	if total == 0 {
		t.Error("nothing was ever acknowledged")
	}
}

// killWriter runs this test as a writing process and kills it. It returns the acknowledged writes:
// per writer, the last counter and the last value of the row.
func killWriter(t *testing.T, dir string, after time.Duration) (acked [killWriters][2]int64) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestKill$")
	cmd.Env = append(os.Environ(), "PEBBLESTORE_KILL_DIR="+dir)
	cmd.Stderr = os.Stderr
	out := must(cmd.StdoutPipe())
	must(0, cmd.Start())
	lines := bufio.NewScanner(out)
	begun := false
	for lines.Scan() {
		var w, kind int
		var n int64
		// The kill may cut the last line.
		if k, _ := fmt.Sscanf(lines.Text(), "%d %d %d .", &w, &kind, &n); k != 3 || lines.Text()[len(lines.Text())-1] != '.' {
			continue
		}
		acked[w][kind] = n
		if !begun {
			begun = true
			time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
		}
	}
	if err := cmd.Wait(); err == nil || !begun {
		t.Fatalf("the writer ended by itself: %v", err)
	}
	return acked
}

func writeUntilKilled(dir string) {
	s := must(Open(dir, nil))
	tab := must(s.Table(ctx, "t"))
	for w := range killWriters {
		go func() {
			counter := cellstore.Increment{Row: fmt.Append(nil, "c", w), Deltas: []cellstore.Delta{
				{Family: "f", Qualifier: []byte("n"), By: 1}, {Family: "g", Qualifier: []byte("n"), By: 1}}}
			_, n := killState(nil, tab, w)
			for {
				v := must(tab.Increment(ctx, counter, nil))
				fmt.Printf("%d 0 %d .\n", w, v[0])
				n++
				value := fmt.Append(nil, n)
				must(0, tab.Apply(ctx, cellstore.Mutation{Row: fmt.Append(nil, "r", w), Ops: []cellstore.Op{
					cellstore.DeleteRow(cellstore.AllVersions),
					cellstore.PutAt("f", []byte("q"), n, value), cellstore.PutAt("g", []byte("q"), n, value)}}))
				fmt.Printf("%d 1 %d .\n", w, n)
			}
		}()
	}
	select {}
}

// killState reads a writer's counter and row. The families of the row must agree.
func killState(t *testing.T, tab cellstore.Table, w int) (counter, n int64) {
	var row cellstore.Row
	must(tab.Get(ctx, fmt.Append(nil, "c", w), nil, &row))
	f, _ := row.Value("f", []byte("n"))
	g, _ := row.Value("g", []byte("n"))
	if string(f) != string(g) && t != nil {
		t.Fatalf("counters of writer %d are torn: %x and %x", w, f, g)
	}
	if len(f) == 8 {
		counter = int64(binary.BigEndian.Uint64(f))
	}
	must(tab.Get(ctx, fmt.Append(nil, "r", w), &cellstore.Selection{Versions: cellstore.Unlimited}, &row))
	if len(row.Cells) != 0 {
		n = row.Cells[0].Timestamp
		if t != nil && (len(row.Cells) != 2 || row.Cells[1].Timestamp != n || string(row.Cells[0].Value) != fmt.Sprint(n) ||
			string(row.Cells[1].Value) != fmt.Sprint(n)) {
			t.Fatalf("the row of writer %d is torn: %v", w, row.Cells)
		}
	}
	return counter, n
}
