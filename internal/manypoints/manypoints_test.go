package manypoints

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"math"
	"testing"
)

// TestFormsAgree tests that all forms have the same points.
func TestFormsAgree(t *testing.T) {
	const n = 1000
	var lines, table bytes.Buffer
	if err := WriteLines(&lines, n); err != nil {
		t.Fatal(err)
	}
	if err := WriteTable(&table, n); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&table).ReadAll()
	if err != nil || len(rows) != n+1 {
		t.Fatal(len(rows), err)
	}
	d := json.NewDecoder(&lines)
	i := 0
	for p := range Each(n) {
		var f struct {
			ID       string
			Geometry struct{ Coordinates [2]float64 }
			// Properties are compared as text, because both forms share one writer.
			Properties json.RawMessage
		}
		if err := d.Decode(&f); err != nil {
			t.Fatal(err)
		}
		var properties map[string]any
		if err := json.Unmarshal(p.Properties, &properties); err != nil || len(properties) != 10 {
			t.Fatal(properties, err)
		}
		row := rows[i+1]
		if math.Abs(p.Lat) > 90 || math.Abs(p.Lon) > 180 || f.ID != p.ID || !bytes.Equal(f.Properties, p.Properties) ||
			row[0] != p.ID || row[3] != properties["name"] {
			t.Fatalf("point %d is %v, %v and %v", i, p, f, row)
		}
		i++
	}
	if i != n {
		t.Errorf("%d points, want %d", i, n)
	}
}
