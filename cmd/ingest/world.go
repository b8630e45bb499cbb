package main

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"quadrille/ask"
	"quadrille/cmd/ingest/internal/fetch"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/ip"
	"quadrille/cmd/ingest/internal/world"
	"quadrille/cmd/internal/bytesize"
	"quadrille/cmd/internal/version"
)

type worldCmd struct {
	Only        []string      `group:"what" placeholder:"DATASET" help:"Only these data sets, separated by commas: ${world}."`
	Scale       string        `group:"what" enum:"10m,50m,110m" default:"10m" help:"Scale of the boundaries: 10m, the finest and the default, 50m or 110m."`
	Places      string        `group:"what" enum:"allCountries,cities500,cities1000,cities5000,cities15000" default:"allCountries" help:"Which places: allCountries, the default, is all 12 million; cities500 those of 500 inhabitants and more, and so on."`
	IP          string        `group:"what" name:"ip" enum:"ip-location-db,geolite2-city,geolite2-country,none" default:"ip-location-db" help:"Which IP data: ip-location-db, the default, which knows countries; geolite2-city or geolite2-country of MaxMind, for those with an account; none."`
	IPFile      []string      `group:"what" name:"ip-file" type:"existingpath" placeholder:"FILE" help:"Your own source of address ranges, a file or folder as of ingest ip, which comes before what is downloaded; repeatable."`
	MaxChange   *share        `placeholder:"SHARE" help:"Do not publish a data set of which more than this share would be other than what is published, such as 10%: of the records of a kind, or of all rows; of ip of the addresses, by their answers."`
	Downloads   string        `group:"download" default:"./downloads" type:"path" placeholder:"DIR" help:"Where downloads are kept, so that only what has changed is downloaded again."`
	Mirror      string        `group:"download" placeholder:"URL" help:"Where all files are found under their own names, instead of at their publishers."`
	Contact     string        `group:"download" placeholder:"URL" help:"Address under which publishers reach whoever runs this: a web page, or mailto:you@example.org. It is sent with each request."`
	DryRun      bool          `help:"List the files with their addresses and sizes; download nothing, build nothing and publish nothing."`
	Force       bool          `help:"Ingest also what has not changed."`
	MaxDownload bytesize.Size `group:"download" default:"4GiB" placeholder:"SIZE" help:"Most to download in one run, ${default} if not given."`
}

func (worldCmd) Help() string {
	return `Downloads the files of Natural Earth, GeoNames, OurAirports, NOAA and ip-location-db from their
publishers and ingests them in the order they need. Run it again, such as once a day, to take up what has
changed: only changed files are downloaded, and only data sets they belong to are built. Their licences are in
the list of --dry-run; GeoNames and the IP data must be named on your map.

  ingest world --dry-run
  ingest world --contact https://maps.example.org
  ingest world --places cities500 --scale 50m
  ingest world --only ip --ip geolite2-city --max-change 10%

Downloads that break off go on where they stopped, in the same run and in the next. When files of a data set
cannot be had, that data set stays as it is published and the others go on; the exit code is then 1.

GeoLite2 needs MaxMind's account number and licence key in the environment variables MAXMIND_ACCOUNT_ID and
MAXMIND_LICENSE_KEY, and its terms accepted.`
}

// contact checks the contact that is sent to publishers: it must be a single plain address.
func (c *worldCmd) contact() (string, error) {
	if c.Contact == "" {
		return "", nil
	}
	u, err := url.Parse(c.Contact)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" && u.Scheme != "mailto" || strings.ContainsAny(c.Contact, "() \r\n\t") {
		return "", &usageError{fmt.Errorf("--contact %q: give a web address or mailto:you@example.org", c.Contact)}
	}
	return " (+" + c.Contact + ")", nil
}

// publishes returns the data sets that the command publishes.
func (c *worldCmd) publishes() []string {
	all := c.Only
	if len(all) == 0 {
		all = world.Datasets
	}
	return slices.DeleteFunc(slices.Clone(all), func(name string) bool {
		return name == ask.Addresses.Name && c.IP == "none" && len(c.IPFile) == 0
	})
}

func (c *worldCmd) Run(s *session) error {
	contact, err := c.contact()
	if err != nil {
		return err
	}
	for _, k := range []string{"MAXMIND_ACCOUNT_ID", "MAXMIND_LICENSE_KEY"} {
		if strings.ContainsAny(os.Getenv(k), " \r\n\t") {
			return &usageError{errors.New(k + " holds a space or a line break; set it to the bare text")}
		}
	}
	plan := world.Options{
		Selection: world.Selection{
			Datasets: c.Only, Scale: c.Scale, Places: c.Places, IP: c.IP, Mirror: c.Mirror,
			Account: os.Getenv("MAXMIND_ACCOUNT_ID"), Key: os.Getenv("MAXMIND_LICENSE_KEY"),
		},
		Cache: c.Downloads, IPFiles: c.IPFile, Force: c.Force, Program: version.String(),
		Fetch: fetch.Options{
			UserAgent: "Quadrille/" + version.String() + contact,
			MaxTotal:  int64(c.MaxDownload),
			Progress: func(name string, done, total int64) {
				s.reporter.Progress(job.Progress{Stage: "downloading " + name, Done: done, Total: total, Unit: "bytes"})
			},
			OnRetry: s.reporter.Note,
		},
		Job: s.options,
		IP:  ip.Options{Derive: true, OnCompared: s.reporter.compared},
	}
	if c.MaxChange != nil {
		plan.Job.MaxChange = (*float64)(c.MaxChange)
	}
	sources, err := world.Sources(plan.Selection)
	if err != nil {
		return &usageError{err}
	}
	if c.DryRun {
		return s.listSources(sources)
	}
	return world.Run(s.ctx, s.catalog, plan)
}

// listSources prints the output of --dry-run.
func (s *session) listSources(sources []world.Source) error {
	if s.json {
		for _, src := range sources {
			s.reporter.event(struct {
				Event       string `json:"event"`
				Dataset     string `json:"dataset"`
				File        string `json:"file"`
				URL         string `json:"url"`
				Bytes       int64  `json:"bytes_about"`
				Source      string `json:"source"`
				License     string `json:"license"`
				Attribution string `json:"attribution,omitempty"`
				Terms       string `json:"terms,omitempty"`
			}{"source", src.Dataset, src.File.Name, src.File.URL, src.ApproxBytes, src.Credit.Name, src.Credit.License,
				src.Credit.Attribution, src.Terms})
		}
		return nil
	}
	w := tabwriter.NewWriter(s.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "DATASET\tABOUT\tLICENCE\tADDRESS")
	var sum int64
	for _, src := range sources {
		sum += src.ApproxBytes
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", src.Dataset, byteCount(src.ApproxBytes), src.Credit.License, src.File.URL)
	}
	fmt.Fprintf(w, "\t%s\t\t\n", byteCount(sum))
	return w.Flush()
}
