package places

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/paulmach/orb"

	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/features"
	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/format"
	"quadrille/cmd/ingest/internal/source/geojson"
	"quadrille/cmd/ingest/internal/source/geonames"
	"quadrille/cmd/internal/columnname"
	"quadrille/places"
	"quadrille/places/search"
	"quadrille/quadkey"
)

const (
	// rankReach is the distance in metres within which a place of the same name is that of a rank: the middle of an
	// agglomeration is not that of its city.
	rankReach = 50_000
	// rankNear is the distance within which a place of another name, but of a similar size, is it too: spellings differ.
	rankNear, rankTimes = 10_000, 3
	// unrankedPeople is the population beyond which a town that no rank names counts a tenth. Its gazetteer
	// population may be that of a district.
	unrankedPeople = 100_000
	maxRankPeople  = 1e10
)

// These are the columns of ranks as keys, the preferred first. Of the names all are tried.
var (
	rankNames = []string{
		"name", "nameascii", "asciiname", "namealt", "nameen", "city", "cityascii", "town", "place", "agglomeration", "urbanagglomeration",
	}
	rankPeople    = []string{"popmax", "population", "pop", "people", "inhabitants"}
	rankCountries = []string{"isoa2", "iso2", "countrycode", "iso31661alpha2", "cc", "country"}
)

// rank is a row of a table of agglomerations.
type rank struct {
	label   string
	names   []string // folded
	at      orb.Point
	country string // "": unknown
	people  uint64
	// These are the places of the gazetteer that it may belong to; an id is 0 if there is none.
	named, near rankedPlace
}

type rankedPlace struct {
	id         uint32
	own        bool // of the place's names its own one is that of the rank
	population int64
	distance   float64
}

// better reports whether a is more certainly the place: New Delhi is one of the names of Delhi.
func (a rankedPlace) better(b rankedPlace) bool {
	switch {
	case b.id == 0:
		return true
	case a.own != b.own:
		return a.own
	}
	return a.population > b.population || a.population == b.population && a.distance < b.distance
}

// rankTable has the ranks by the square degree that they are in.
type rankTable struct {
	cells  map[[2]int][]*rank
	all    []*rank
	people map[uint32]uint64 // by the id of the place
	ranked map[string]bool   // countries with a ranked place
}

func rankCell(lon, lat float64) [2]int {
	return [2]int{(int(math.Floor(lon))+540)%360 - 180, int(math.Floor(lat))}
}

// readRanks reads the files of ranks and finds the place of each.
func (j *placesJob) readRanks(files *features.Files) error {
	j.ranks = rankTable{cells: map[[2]int][]*rank{}, people: map[uint32]uint64{}, ranked: map[string]bool{}}
	for _, f := range j.of(geonames.KindRanks) {
		if err := j.readRankFile(files, f); err != nil {
			return err
		}
	}
	if len(j.ranks.all) == 0 {
		return nil
	}
	for _, f := range j.of(geonames.KindPlaces) {
		if err := j.matchRanks(f); err != nil {
			return err
		}
	}
	var missing []string
	for _, r := range j.ranks.all {
		if id := cmp.Or(r.named.id, r.near.id); id == 0 {
			missing = append(missing, r.label)
		} else {
			j.ranks.people[id] = max(j.ranks.people[id], r.people)
		}
	}
	note := fmt.Sprintf("ranks: %d of %d belong to a place", len(j.ranks.all)-len(missing), len(j.ranks.all))
	if len(missing) > 0 {
		const most = 10
		note += fmt.Sprintf("; no place of such a name or size is near %s", strings.Join(missing[:min(len(missing), most)], ", "))
		if more := len(missing) - most; more > 0 {
			note += fmt.Sprintf(" and %d more", more)
		}
	}
	j.rep.Note(note)
	return nil
}

func (j *placesJob) readRankFile(files *features.Files, f *placesFile) error {
	file, err := files.Open(f.Input.Input, format.Options{Want: source.WantPoints, Said: &geojson.Said{}})
	if err != nil {
		return err
	}
	tally := job.NewTally(j.maxBad)
	defer func() { j.tally.Merge(tally) }()
	err = file.Read("reading ranks", func(l *format.Layer, report func()) error {
		return job.ReadRecords(j.ctx, l.Features, tally, report, func(of source.Feature) error { return j.addRank(f, &of) })
	})
	if err != nil {
		return err
	}
	if err := tally.Err(); err != nil {
		return err
	}
	if tally.TakenCount() == 0 {
		return fmt.Errorf("%s: none of its rows is a rank, such as %w; it needs a column of names, one of people (%s) and positions",
			f.Path, tally.Example(), strings.Join(rankPeople, ", "))
	}
	f.src, f.read = file.Sources[0], true
	f.src.Records = tally.TakenCount()
	j.rep.Note(fmt.Sprintf("%s: %d %s", filepath.Base(f.Path), tally.TakenCount(), kindWords[f.Kind]))
	return nil
}

// mostRankNames bounds the names of a rank, and mostInCell the ranks in a square degree, with each of which every
// place there is compared.
const mostRankNames, mostInCell = 64, 2000

func (j *placesJob) addRank(f *placesFile, of *source.Feature) error {
	bad := func(reason, detail string) error {
		return &source.BadRecord{Source: f.Path, Line: of.Line, Reason: reason, Detail: detail}
	}
	at, reason, detail := source.PositionOf(of.Geometry)
	if reason == "" {
		at, reason, detail = source.NormalizePosition(at.Lon(), at.Lat())
	}
	if reason != "" {
		return bad(reason, detail)
	}
	r := &rank{at: at}
	people, country := "", ""
	peopleAt, countryAt := len(rankPeople), len(rankCountries)
	for _, m := range of.Members {
		key, text := columnname.Key(m.Name), strings.TrimSpace(string(source.TextOf(m.Value)))
		if slices.Contains(rankNames, key) {
			for name := range strings.SplitSeq(text, "|") {
				if len(r.names) == mostRankNames {
					break
				}
				if folded := string(search.Fold(nil, name)); folded != "" && !slices.Contains(r.names, folded) {
					r.names = append(r.names, folded)
					if r.label == "" {
						r.label = source.Excerpt(name)
					}
				}
			}
		}
		if i := slices.Index(rankPeople, key); i >= 0 && i < peopleAt {
			people, peopleAt = text, i
		}
		if i := slices.Index(rankCountries, key); i >= 0 && i < countryAt && source.IsCode(strings.ToUpper(text), 2) {
			country, countryAt = strings.ToUpper(text), i
		}
	}
	n, ok := source.ParseDecimal(people, maxRankPeople)
	switch {
	case len(r.names) == 0:
		return bad("has no name", "")
	case !ok || n < 0:
		return bad("has no number of people", people)
	}
	r.people, r.country = max(uint64(n), 1), country
	cell := rankCell(at.Lon(), at.Lat())
	if len(j.ranks.cells[cell]) == mostInCell {
		return bad("is one of too many in its square degree", "at most "+strconv.Itoa(mostInCell))
	}
	if err := j.small.add(append(r.names, r.label)...); err != nil {
		return err
	}
	j.ranks.all = append(j.ranks.all, r)
	j.ranks.cells[cell] = append(j.ranks.cells[cell], r)
	return nil
}

// matchRanks reads a file of places for those that ranks belong to. Bad rows are counted when it is read for the rows.
func (j *placesJob) matchRanks(f *placesFile) error {
	file, err := f.Open(geonames.IsTableMember, source.WantRows)
	if err != nil {
		return err
	}
	defer file.Close()
	report := job.BytesRead(j.rep, "finding the places of ranks", file)
	rows := 0
	for r, err := range job.ReadAhead(geonames.Read(file, f.Path)) {
		if rows++; rows%job.ProgressRows == 0 {
			report()
			if err := j.ctx.Err(); err != nil {
				return err
			}
		}
		if bad := (*source.BadRecord)(nil); err != nil && !errors.As(err, &bad) {
			return err
		}
		if err == nil && r.Class == "P" {
			j.ranks.match(&r)
		}
	}
	return nil
}

// match gives a place to the ranks that it can be the place of. The most populous one that is called so counts, else one that is
// also called so, else the nearest of a similar size.
func (t *rankTable) match(r *geonames.Record) {
	var names []string // folded when they are needed
	within := rankReach / 111_000.0
	wide := min(within/math.Cos(r.Lat*math.Pi/180), 179)
	for x := math.Floor(r.Lon - wide); x <= r.Lon+wide; x++ {
		for y := math.Floor(r.Lat - within); y <= r.Lat+within; y++ {
			for _, rank := range t.cells[rankCell(x, y)] {
				distance := quadkey.Distance(rank.at.Lon(), rank.at.Lat(), r.Lon, r.Lat)
				if distance > rankReach || rank.country != "" && r.Country != "" && rank.country != r.Country {
					continue
				}
				if n := &rank.near; distance < rankNear && (n.id == 0 || distance < n.distance) &&
					uint64(r.Population) < rankTimes*rank.people && rank.people < rankTimes*uint64(r.Population) {
					*n = rankedPlace{r.ID, false, r.Population, distance}
				}
				found := rankedPlace{r.ID, true, r.Population, distance}
				if !found.better(rank.named) {
					continue
				}
				if names == nil {
					for name := range strings.SplitSeq(r.Name+","+r.ASCIIName+","+r.AlternateNames, ",") {
						names = append(names, string(search.Fold(nil, name)))
					}
				}
				i := slices.IndexFunc(names, func(name string) bool { return slices.Contains(rank.names, name) })
				if found.own = i < 2; i >= 0 && found.better(rank.named) {
					rank.named = found
					t.ranked[strings.Clone(r.Country)] = true
				}
			}
		}
	}
}

// weigh gives a place the people that it counts as on a map, if they are not its population.
func (t *rankTable) weigh(p *places.Place) {
	population, people := uint64(p.Population), t.people[p.ID]
	if unrankedPeople < population && (people > 0 || p.Class == "P" && p.Code != "PPLC" && t.ranked[p.Country]) {
		population = unrankedPeople + (population-unrankedPeople)/10
	}
	if people = max(people, population); people != uint64(p.Population) {
		p.Weight = people
	}
}
