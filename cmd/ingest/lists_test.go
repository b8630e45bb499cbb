package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"quadrille/cmd/internal/testfile"
)

// A command takes the settings of the entry of its data set, and of no other one, and a patch takes no layers of it.
func TestEntries(t *testing.T) {
	const (
		points = "points:\n- {collection: staff, file: staff.csv, private: true}\n- {collection: shops, file: shops}\n"
		layers = "boundaries:\n- {set: wards, layer: ward=w, max-change: 1%}\n" +
			"- {layer: country=c, patch: state=s, remove: 'state:a', keep: lake, max-change: 2%}\n"
		sets   = "boundaries:\n- {set: wards, layer: ward=w}\n- {set: parks, layer: park=p}\n"
		single = "boundaries: {layer: country=c, id: code}\n"
	)
	for _, tt := range []struct{ file, args, env, want string }{
		{points, "points staff shops", "", "staff [shops] private=true"},
		{points, "points shops", "", "shops [shops] private=false"},
		{points, "points --title=staff shops", "", "shops [shops] private=false"},
		{points, "points cafes --title=shops", "", "no entry for cafes, but for staff, shops"},
		{points, "points cafes shops", "", "no entry for cafes"},
		{points, "points", "", "points has 2 entries: name the collection of one (staff, shops)"},
		{"points: {collection: shops, file: f}", "points", "", "shops [f] private=false"},
		{points + "- {collection: shops, file: f}\n", "points shops", "", "2 entries of points have shops"},
		{layers, "boundaries", "", "layers [country=c] patches [state=s] removed 1 keep lake id  change 0.02"},
		{layers, "boundaries --set wards", "", "wards layers [ward=w] patches [] removed 0 keep false id  change 0.01"},
		{layers, "boundaries --id wards", "", "layers [country=c] patches [state=s] removed 1 keep lake id wards change 0.02"},
		{layers, "boundaries", "wards", "wards layers [ward=w] patches [] removed 0 keep false id  change 0.01"},
		{layers, "boundaries --set parks", "wards", "no entry for parks, but for wards"},
		{layers, "boundaries --patch country=w", "", "layers [] patches [country=w] removed 0 keep false id  change 0.02"},
		{layers, "boundaries --remove country:a", "", "layers [] patches [] removed 1 keep false id  change 0.02"},
		{layers, "boundaries --set wards --patch ward=p", "", "wards layers [] patches [ward=p] removed 0 keep false id  change 0.01"},
		{layers, "boundaries --layer ward=p", "", "layers [ward=p] patches [state=s] removed 1 keep lake id  change 0.02"},
		{sets, "boundaries", "", "boundaries has 2 entries: name the set of one (wards, parks)"},
		{sets, "boundaries --layer ward=wards", "", "layers [ward=wards] patches [] removed 0 keep false id  change 0"},
		{sets + "- {set: parks}\n", "boundaries --set parks", "", "2 entries of boundaries have parks"},
		{single, "boundaries --patch country=p", "", "layers [] patches [country=p] removed 0 keep false id code change 0"},
		{single, "boundaries --patch country=p --layer country=c", "", "the layer country is replaced by a whole file"},
		{"places:\n- {file: a}\n- {file: b}\n", "places", "", "has 2 entries of places: join them"},
	} {
		t.Run(tt.args, func(t *testing.T) {
			if tt.env != "" {
				t.Setenv("QUADRILLE_BOUNDARIES_SET", tt.env)
			}
			c := &cli{}
			parser, err := newParser(c, io.Discard, io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			ctx, err := parser.Parse(append(strings.Fields(tt.args), "--config", testfile.WriteTemp(t, "c.yaml", tt.file)))
			if err == nil {
				err = c.complete(ctx)
			}
			got := fmt.Sprint(err)
			if err == nil && ctx.Selected().Name == "points" {
				got = fmt.Sprintf("%s %v private=%v", c.Points.Collection, c.Points.Files, c.Points.Private)
			} else if b := &c.Boundaries; err == nil {
				keep, _ := b.Keep.MarshalText()
				var layers, patches []string
				for _, l := range b.Layer {
					layers = append(layers, l.typ+"="+l.file)
				}
				for _, l := range b.Patch {
					patches = append(patches, l.typ+"="+l.file)
				}
				got = strings.TrimSpace(fmt.Sprintf("%s layers %v patches %v removed %d keep %s id %s change %v", b.Set, layers, patches, len(b.Remove),
					keep, b.ID, float64(*cmp.Or(b.MaxChange, new(share)))))
			}
			if err == nil && got != tt.want || !strings.Contains(got, tt.want) {
				t.Errorf("%s of\n%s%s, want %s", tt.args, tt.file, got, tt.want)
			}
		})
	}
}

// What no refresh could do is refused by config check too, with the name of the entry.
func TestCheckEntries(t *testing.T) {
	const squares = "internal/job/boundaries/testdata/squares.geojson"
	for text, want := range map[string]string{
		"boundaries: {layer: ward=" + squares + ", patch: ward=" + squares + "}":                                    "the layer ward is replaced by a whole file",
		"points:\n- {collection: a, file: " + squares + "}\n- {collection: b, file: " + squares + ", into-live: x}": "points, entry 2 has into-live",
		"points:\n- {collection: a, file: " + squares + "}\n- {collection: b, file: nothing}":                       "points, entry 2: ",
		"boundaries:\n- {set: a, layer: ward=" + squares + "}\n- {set: b, remove: 'a:b'}":                           "boundaries, entry 2 has remove",
		"places:\n- {file: " + squares + "}\n- {file: " + squares + "}":                                             "2 entries of places: join them",
		"verify:\n- {}\n- {}": "2 entries of verify: join them",
		"points: []":          "points is a command: write its settings beneath it",
	} {
		var out bytes.Buffer
		err := run(t.Context(), []string{"config", "check", "--data", t.TempDir(), "--config", testfile.WriteTemp(t, "c.yaml", text)}, &out, &out)
		if exitCode(err) != 2 || !strings.Contains(err.Error(), want) {
			t.Errorf("%s:\n%v, want %s", text, err, want)
		}
	}
	var out bytes.Buffer
	settings := testfile.WriteTemp(t, "c.yaml", "ip: {file: a}\npoints:\n- {collection: a, file: f}\n- {collection: b, file: f}\n")
	err := run(t.Context(), []string{"refresh", "points-nope", "--data", filepath.Join(t.TempDir(), "d"), "--config", settings}, &out, &out)
	if exitCode(err) != 2 || !strings.Contains(err.Error(), "has no points-nope: with its settings beneath, but those of ip, points-a, points-b") {
		t.Error(err)
	}
}

// A refresh takes entries of a list by the names of their data sets; that of the entry without a set is the command's name.
func TestRefreshNamesEntries(t *testing.T) {
	const squares = "internal/job/boundaries/testdata/squares.geojson"
	shops := testfile.WriteTemp(t, "shops.csv", "id,lat,lon\na,1,2\n")
	lists := "points:\n- {collection: a, file: " + shops + "}\n- {collection: b, file: " + shops + "}\n" +
		"boundaries:\n- {set: wards, layer: 'ward=" + squares + ":CODE'}\n"
	const main = "- {layer: 'county=" + squares + ":CODE'}\n"
	for _, tt := range []struct{ file, args, want, note string }{
		{lists + main, "", "boundaries boundaries-wards points-a points-b", ""},
		{lists + main, "boundaries", "boundaries", "not refreshed, since they are data sets of their own: boundaries-wards; name them too"},
		{lists + main, "boundaries-wards", "boundaries-wards", ""},
		{lists + main, "boundaries boundaries-wards points-b", "boundaries boundaries-wards points-b", ""},
		{lists, "boundaries", "boundaries-wards", ""},
		{lists + main, "points", "points-a points-b", ""},
	} {
		var out bytes.Buffer
		dir := t.TempDir()
		args := append([]string{"refresh"}, strings.Fields(tt.args)...)
		if err := run(t.Context(), append(args, "--data", dir, "--config", testfile.WriteTemp(t, "c.yaml", tt.file)), &out, &out); err != nil {
			t.Fatal(err, out.String())
		}
		catalog, err := openCatalog(dir, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, name := range []string{"boundaries", "boundaries-wards", "points-a", "points-b"} {
			if _, err := catalog.Current(t.Context(), name); err == nil {
				got = append(got, name)
			}
		}
		if strings.Join(got, " ") != tt.want || !strings.Contains(out.String(), tt.note) ||
			tt.note == "" && strings.Contains(out.String(), "not refreshed") {
			t.Errorf("refresh %s: %q, want %s\n%s", tt.args, got, tt.want, out.String())
		}
	}
}
