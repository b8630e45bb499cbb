package world

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/ingest/internal/fetch"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/airports"
	"quadrille/cmd/ingest/internal/job/boundaries"
	"quadrille/cmd/ingest/internal/job/ip"
	"quadrille/cmd/ingest/internal/job/places"
	"quadrille/cmd/ingest/internal/job/renew"
	"quadrille/cmd/ingest/internal/job/stations"
	"quadrille/cmd/ingest/internal/job/timezones"
	"quadrille/cmd/ingest/internal/source/columns"
)

// Options configures Run.
type Options struct {
	Selection
	// Cache is the directory that keeps the files.
	Cache string
	// IPFiles are the user's own sources of address ranges, best first. They come
	// before the downloaded sources.
	IPFiles []string
	// Force also ingests data sets whose files have not changed.
	Force bool
	// Program is the version of the program. Another version ingests everything again.
	Program string
	Fetch   fetch.Options
	Job     job.Options
	// IP are the options of the data set ip. Job replaces the job's options in it.
	IP ip.Options
}

// Run downloads changed files and ingests their data sets. A data set with a missing file keeps its
// published generation. The others are ingested nevertheless. The error then names every data set
// that failed.
func Run(ctx context.Context, c *dataset.Catalog, p Options) error {
	sources, err := Sources(p.Selection)
	if err != nil {
		return err
	}
	if err := p.ready(); err != nil {
		return err
	}
	r := &run{Options: p, ctx: ctx, catalog: c, paths: map[string]string{}}
	if r.Job.Reporter == nil {
		r.Job.Reporter = job.SilentReporter{}
	}
	if err := r.download(sources); err != nil {
		return err
	}
	for _, name := range Datasets {
		if !p.Wants(name) {
			continue
		}
		if r.failed[name] == nil {
			r.fail(name, r.ingest(name, sources))
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return r.summary()
}

// ready checks, before hours of downloads, for errors that would make the ingest fail afterwards.
func (p Options) ready() error {
	if len(p.IPFiles) > 0 && !p.Wants(ask.Addresses.Name) {
		return errors.New("--ip-file is given, but --only leaves ip out; name it there too")
	}
	if p.Selection.IP == "none" && len(p.IPFiles) == 0 && slices.Contains(p.Datasets, ask.Addresses.Name) {
		return errors.New("--ip none leaves ip without a source; give --ip-file, or take ip out of --only")
	}
	for _, f := range p.IPFiles {
		if _, err := os.Stat(f); err != nil {
			return fmt.Errorf("--ip-file: %w", err)
		}
	}
	return nil
}

type run struct {
	Options
	ctx     context.Context
	catalog *dataset.Catalog
	paths   map[string]string // of the files, by name
	failed  map[string]error  // by data set
}

func (r *run) fail(dataset string, err error) {
	if err == nil {
		return
	}
	if r.failed == nil {
		r.failed = map[string]error{}
	}
	r.failed[dataset] = errors.Join(r.failed[dataset], err)
}

// download fetches all files. A failure is recorded for the summary. Only an interruption, or a
// cache that cannot be used, ends the run.
func (r *run) download(sources []Source) error {
	if len(sources) == 0 {
		return nil
	}
	client, err := fetch.New(r.Cache, r.Fetch)
	if err != nil {
		return err
	}
	for _, s := range sources {
		if r.failed[s.Dataset] != nil {
			continue // nothing of it will be ingested
		}
		res, err := client.Get(r.ctx, s.File)
		if err := r.ctx.Err(); err != nil {
			return errors.Join(err, client.Close())
		}
		if err != nil {
			r.fail(s.Dataset, err)
			r.Job.Reporter.Note(fmt.Sprintf("%s stays as it is: %v", s.Dataset, err))
			continue
		}
		r.paths[s.File.Name] = res.Path
		if res.Unchanged {
			r.Job.Reporter.Note(s.File.Name + " has not changed")
		}
	}
	return client.Close()
}

// ingest publishes one data set, unless its files have not changed.
func (r *run) ingest(name string, sources []Source) error {
	var files []Source
	for _, s := range sources {
		if s.Dataset == name {
			files = append(files, s)
		}
	}
	if name == ask.Addresses.Name && len(files)+len(r.IPFiles) == 0 {
		return nil
	}
	basis, err := r.basis(name, files)
	if err != nil {
		return err
	}
	record := filepath.Join(r.Cache, "."+name+".ingested")
	return basis.Renew(r.ctx, r.catalog, name, record, r.Force, r.Job.Reporter, func() error {
		_, err := builders[name](r, files)
		return err
	})
}

// builders ingest the downloaded files of a data set, by its name.
var builders = map[string]func(*run, []Source) (dataset.Manifest, error){
	ask.Boundaries.Name: func(r *run, files []Source) (dataset.Manifest, error) {
		var layers []boundaries.Input
		for _, s := range files {
			layers = append(layers, boundaries.Input{Type: s.Layer, Input: r.input(s), Told: columns.Told{Nameless: true}})
		}
		layers, err := boundaries.KeepZones(r.ctx, r.catalog, layers)
		if err != nil {
			return dataset.Manifest{}, err
		}
		return boundaries.Ingest(r.ctx, r.catalog, layers, r.Job)
	},
	ask.Places.Name: func(r *run, files []Source) (dataset.Manifest, error) {
		var list []places.Input
		for _, s := range files {
			list = append(list, places.Input{Input: r.input(s)})
		}
		return places.Ingest(r.ctx, r.catalog, list, r.Job)
	},
	ask.TimeZones.Name: func(r *run, _ []Source) (dataset.Manifest, error) {
		return timezones.Ingest(r.ctx, r.catalog, r.Job)
	},
	ask.Airports.Name: func(r *run, files []Source) (dataset.Manifest, error) {
		return airports.Ingest(r.ctx, r.catalog, r.input(files[0]), r.Job)
	},
	ask.Stations.Name: func(r *run, files []Source) (dataset.Manifest, error) {
		return stations.Ingest(r.ctx, r.catalog, r.input(files[0]), r.Job)
	},
	ask.Addresses.Name: (*run).buildIP,
}

func (r *run) input(s Source) job.Input {
	return job.Input{Path: r.paths[s.File.Name], Credit: s.Credit}
}

func (r *run) buildIP(files []Source) (dataset.Manifest, error) {
	var list []ip.Input
	for _, path := range r.IPFiles {
		list = append(list, ip.Input{Input: job.Input{Path: path}})
	}
	for _, s := range files {
		list = append(list, ip.Input{Input: r.input(s)})
	}
	o := r.Options.IP
	o.Options = r.Job
	return ip.Ingest(r.ctx, r.catalog, list, o)
}

// basis returns the inputs of the result.
func (r *run) basis(name string, files []Source) (renew.Basis, error) {
	of, paths := []string{"program " + r.Program}, []string{}
	for _, s := range files {
		paths = append(paths, r.paths[s.File.Name])
	}
	if name == ask.Addresses.Name {
		of = append(of, fmt.Sprint("derive ", r.Options.IP.Derive))
		paths = append(paths, r.IPFiles...)
	}
	return renew.BasisOf(r.ctx, r.catalog, name, of, paths)
}

// summary returns an error with all failures, or nil if there are none.
func (r *run) summary() error {
	var names []string
	var errs []error
	for _, name := range Datasets {
		if err := r.failed[name]; err != nil {
			names, errs = append(names, name), append(errs, err)
		}
	}
	return renew.NotRenewed(names, errs)
}
