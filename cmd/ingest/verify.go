package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"quadrille/ask"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/places/live"
	"quadrille/places/points"
	"quadrille/tiles/verify"
)

// isRegions reports whether a data set has layers of regions.
func isRegions(name string) bool {
	return name == ask.BoundariesName || strings.HasPrefix(name, ask.RegionSetPrefix)
}

// verifyTiles checks the tiles of a generation of layers of regions and prints the findings. If
// there are findings, it returns an error.
func verifyTiles(s *session, name string, generation uint64) (err error) {
	gen, meta, err := openBoundaries(s, name, generation)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, gen.Close()) }()
	report, err := verify.Run(s.ctx, gen.Store, meta, verify.Options{
		Progress: func(rows int64) {
			s.reporter.Progress(job.Progress{Stage: "checking tiles", Done: rows, Unit: "rows"})
		},
	})
	if err != nil {
		return err
	}
	s.reporter.close()
	switch {
	case s.json:
		s.reporter.event(struct {
			Event      string `json:"event"`
			Dataset    string `json:"dataset"`
			Generation uint64 `json:"generation"`
			verify.Report
		}{"checked", name, gen.Manifest.Generation, report})
	case !s.quiet || len(report.Findings) > 0:
		if err := printReport(s.stdout, report); err != nil {
			return err
		}
	}
	if len(report.Findings) == 0 {
		return nil
	}
	var n int64
	for _, f := range report.Findings {
		n += f.Count
	}
	return fmt.Errorf("%s findings in the tiles of generation %d; ingest boundaries builds them again", grouped(n), gen.Manifest.Generation)
}

// remarkForeign names the files that do not belong to a generation. They do no harm.
func remarkForeign(s *session, name string, generation uint64) (err error) {
	gen, err := openGeneration(s, name, generation)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, gen.Close()) }()
	foreign, err := gen.ForeignFiles(s.ctx)
	for _, path := range foreign {
		s.tell(told{Event: "foreign file", Dataset: name, Generation: gen.Manifest.Generation, Path: path},
			"%s does not belong to generation %d of %s and does no harm; it can be removed", path, gen.Manifest.Generation, name)
	}
	return err
}

// verifyPoints reads every row of a generation of points.
func verifyPoints(s *session, name string, generation uint64) (err error) {
	gen, err := openGeneration(s, name, generation)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, gen.Close()) }()
	var meta live.Meta
	store, err := gen.Contents(points.SchemaVersion, &meta)
	if err != nil {
		return err
	}
	err = points.Verify(s.ctx, store, meta, job.StageOf(s.reporter, "checking rows of "+name, "rows"))
	if err != nil {
		return fmt.Errorf("generation %d: %w; ingest the points again, or publish an earlier generation by ingest rollback",
			gen.Manifest.Generation, err)
	}
	return nil
}

// printReport writes a report as two tables: the counts by type, and the
// findings.
func printReport(out io.Writer, r verify.Report) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "TYPE\tREGIONS\tINTERIOR ROWS\tMIXED ROWS\tBORDER EDGES\tSHARED\tLABELS\tSOURCE POINTS\t")
	var points int64
	for _, t := range r.Types {
		points += t.Witnesses
		var leaves, mixed int64
		for z := range t.Leaves {
			leaves, mixed = leaves+t.Leaves[z], mixed+t.Mixed[z]
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", t.Name, grouped(int64(t.Regions)), grouped(leaves), grouped(mixed),
			grouped(t.Edges), grouped(t.SharedEdges), grouped(t.Labels), grouped(t.Witnesses))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if points == 0 {
		fmt.Fprintln(out, "this generation holds no points of its sources, as earlier versions built it, so its borders "+
			"were not compared with them; ingest boundaries builds it again with some")
	}
	for _, t := range r.Types {
		const most = 5
		for i, o := range t.Overlaps {
			if i == most {
				fmt.Fprintf(out, "and %s more pairs of type %s\n", grouped(int64(len(t.Overlaps)-most)), t.Name)
				break
			}
			fmt.Fprintf(out, "%s %s and %s overlap in the source, as %s rows show\n", t.Name, o.A, o.B, grouped(o.Tiles))
		}
	}
	for _, f := range r.Findings {
		fmt.Fprintf(out, "%s %s: %s\n", f.Type, f.Problem, grouped(f.Count))
		for _, e := range f.Examples {
			fmt.Fprintf(out, "  %s\n", exampleText(e))
		}
		if f.Problem == verify.ProblemSource {
			fmt.Fprintln(out, "  if the same is found when ingest boundaries has built them again, check the regions' rings in "+
				"the source, and report them")
		}
	}
	return nil
}

// exampleText formats an example, such as "7/66/45 fr: the fault there".
func exampleText(e verify.Example) string {
	text := e.Detail
	if e.Region != "" {
		text = e.Region + ": " + text
	}
	if e.Tile != "" {
		text = e.Tile + " " + text
	}
	return text
}
