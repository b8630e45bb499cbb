package main

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"quadrille/cellstore/dataset"
	"quadrille/cmd/internal/testfile"
	"quadrille/cmd/internal/toyworld"
	"quadrille/cmd/tileserver/internal/quota"
	"quadrille/internal/damagetest"
	"quadrille/internal/testrace"
	"quadrille/internal/testseed"
	"quadrille/ipgeo"
)

// known is a state of a server's files: an image of its directories, and the writes acknowledged
// until then.
type known struct {
	files damagetest.Image
	live  map[string]*damagetest.Judge // by collection
	// These are the least and the greatest number of requests that the counts may report.
	least, most int
}

func (k *known) clone() *known {
	c := *k
	c.live = map[string]*damagetest.Judge{}
	for name, j := range k.live {
		c.live[name] = j.Clone()
	}
	return &c
}

// damaged is a server whose directories are damaged before and while it runs.
type damaged struct {
	*known
	root string
	key  string
	args []string
	want []damagedQuestion // of published data

	t    *testing.T
	what string          // was done
	hit  map[string]bool // the owners of damaged files
	told map[string]bool // those owners that the server calls damaged
	cut  map[string]bool // the owners of logs whose end the server cannot read, as it says
	// mapped is set if the index of addresses was changed in place while it is mapped into memory.
	// Only the next start detects this.
	mapped bool

	process    bool // the server runs in a process of its own
	url, admin string
	log        *syncBuffer
	stop       func() error
	kill       func()
	sent       int // requests counted since the start
	value      int
}

// damagedQuestion is a request and its correct answer.
type damagedQuestion struct{ owner, path, body, want string }

var cutRE = regexp.MustCompile(`level=WARN msg="the table was not closed: .* table=(\w+) .* dropped=[1-9]`)

// damagedAddresses are all addresses in the ranges of the test.
var damagedAddresses = func() []netip.Addr {
	var all []netip.Addr
	for i := range 600 {
		all = append(all, toyworld.Address(i))
	}
	slices.SortFunc(all, netip.Addr.Compare)
	return all
}()

func damagedQuestions() (all []damagedQuestion) {
	for owner, paths := range map[string][]string{
		"data/boundaries": {
			"/regions/at?lat=48.5&lon=4.5",
			"/regions/within?bbox=4,46,8,50",
			"/tiles/country,state/5/16/11.mvt",
			"/tiles/country/13/4213/2850.mvt",
		},
		"data/ip": {"/ip/" + damagedAddresses[0].String(), "/ip/9.9.9.9"},
		"data/points-shops": {
			"/points/shops/within?bbox=-180,-90,180,90&limit=1000",
			"/points/shops/s-7",
			"/points/shops/count",
			"/points/shops/nearby?lat=47&lon=5",
		},
	} {
		for _, path := range paths {
			all = append(all, damagedQuestion{owner: owner, path: path})
		}
	}
	return append(all, damagedQuestion{owner: "data/ip", path: "/ip/batch", body: strings.Trim(fmt.Sprint(damagedAddresses), "[]")})
}

// owner returns the name of the data that a file belongs to: damage of the file damages that data.
func (d *damaged) owner(name string) string {
	parts := strings.Split(strings.TrimPrefix(name, d.root+"/"), "/")
	switch parts[0] {
	case "data":
		if strings.HasPrefix(parts[2], "g") && parts[1] == "points-shops" && parts[2] != "g0000000003" {
			return "an older generation"
		}
		return "data/" + parts[1]
	case "live":
		return "live/" + strings.TrimPrefix(parts[2], "points_")
	}
	return parts[0]
}

func (d *damaged) errorf(format string, args ...any) {
	d.t.Helper()
	d.t.Errorf("%s: %s\n%.3000s", d.what, fmt.Sprintf(format, args...), d.log.String())
}

// start starts the server, and reports whether it runs. If not, it must end with an error of one
// line that names the damaged file.
func (d *damaged) start() bool {
	d.t.Helper()
	d.kill, d.sent, d.mapped = nil, 0, false
	if d.process {
		d.startProcess()
	} else {
		d.url, d.log, d.stop = tryStart(d.t, d.args...)
	}
	if d.url == "" {
		err := d.stop()
		if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), d.root) || len(d.hit) == 0 {
			d.errorf("it does not start: %v", err)
		}
		d.told["all"] = true
		return false
	}
	var log string
	waitFor(d.t, "the address of the admin listener", func() bool { // the log of a process comes by a pipe
		log = d.log.String()
		_, admin, _ := strings.Cut(log, "msg=administration url=")
		admin, _, found := strings.Cut(admin, "\n")
		d.admin = admin
		return found
	})
	// If the ledger is damaged, damage of a log that it lists may also be hidden. The server then
	// logs only a truncated end, like after a crash.
	for _, table := range cutRE.FindAllStringSubmatch(log, -1) {
		owner := strings.Replace(table[1], "points_", "live/", 1)
		d.cut[owner] = d.cut[owner] || d.hit[owner]
	}
	return true
}

// startProcess does the same as start, with the program in a separate process, which can be killed.
func (d *damaged) startProcess() {
	d.t.Helper()
	cmd := rerun(d.t, append([]string{"--listen", "127.0.0.1:0"}, d.args...)...)
	d.log = &syncBuffer{}
	cmd.Stderr = d.log
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		d.t.Fatal(err)
	}
	end := func(s os.Signal) error {
		_ = cmd.Process.Signal(s) // it may have ended
		if err := cmd.Wait(); err == nil || d.url != "" {
			return err
		}
		_, line, _ := strings.Cut(d.log.String(), "tileserver: ")
		return errors.New(strings.TrimSuffix(line, "\n"))
	}
	d.stop = sync.OnceValue(func() error { return end(syscall.SIGTERM) })
	d.kill = func() { _ = end(os.Kill) }
	d.t.Cleanup(func() { _ = d.stop() })
	line, _ := bufio.NewReader(out).ReadString('\n') // its log says why there is none
	_, d.url, _ = strings.Cut(strings.TrimSpace(line), "Quadrille serves ")
}

// do sends a request with the key. The status of a truncated answer is 0.
func (d *damaged) do(method, path, body string) (int, string) {
	d.t.Helper()
	req, err := http.NewRequest(method, d.url+path, strings.NewReader(strings.ReplaceAll(body, " ", "\n")))
	if err != nil {
		d.t.Fatal(err)
	}
	if path != "/ip/batch" { // which counts each line
		req.Header.Set("X-API-Key", d.key)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		d.t.Fatalf("%s: %s: %v: %s", d.what, path, err, d.log)
	}
	defer res.Body.Close()
	if path != "/usage" && path != "/ip/batch" {
		d.sent++
	}
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err.Error()
	}
	if res.StatusCode >= 500 && res.Header.Get("Content-Type") != "application/problem+json" {
		d.errorf("%s: %d %s", path, res.StatusCode, b)
	}
	return res.StatusCode, string(b)
}

// refused reports whether an answer is an error about damaged or unavailable data of an owner, and
// the owner really has damaged files.
func (d *damaged) refused(owner string, code int, body string) bool {
	ok := d.hit[owner] && (code == 0 || code == http.StatusInternalServerError && strings.Contains(body, `"data-corrupt"`) ||
		code == http.StatusServiceUnavailable)
	if ok {
		d.told[owner] = true
	}
	return ok
}

// ask sends all requests, and makes writes.
func (d *damaged) ask() {
	d.t.Helper()
	for _, q := range d.want {
		if code, body := d.question(q); fmt.Sprint(code, " ", body) != q.want && !d.refused(q.owner, code, body) &&
			!(d.mapped && q.owner == "data/ip") {
			d.errorf("%s: %d %.300s", q.path, code, body)
		}
	}
	for name, j := range d.live {
		d.askLive(name, j)
		for range 3 {
			d.write(name, j)
		}
		d.askLive(name, j)
	}
	d.askUsage()
	if code, body := fetch(d.t, d.url+"/healthz"); code != http.StatusOK {
		d.errorf("/healthz: %d %s", code, body)
	}
	if log := d.log.String(); strings.Contains(log, "panic") || strings.Contains(log, "goroutine ") || strings.Count(log, "\n") > 300 {
		d.errorf("%d lines of log", strings.Count(log, "\n"))
	}
}

func (d *damaged) question(q damagedQuestion) (int, string) {
	d.t.Helper()
	method := http.MethodGet
	if q.body != "" {
		method = http.MethodPost
	}
	return d.do(method, q.path, q.body)
}

func (d *damaged) askLive(name string, j *damagetest.Judge) {
	d.t.Helper()
	code, body := d.do(http.MethodGet, "/points/"+name+"/within?bbox=-180,-90,180,90&format=ndjson", "")
	if code != http.StatusOK {
		if !d.refused("live/"+name, code, body) {
			d.errorf("%s: %d %.300s", name, code, body)
		}
		return
	}
	there := map[string]string{}
	for line := range strings.Lines(body) {
		var f struct {
			ID         string
			Properties struct{ V string }
		}
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			d.errorf("%s: %v in %.300s", name, err, line)
			d.told["live/"+name] = true
			return
		}
		there[f.ID] = f.Properties.V
	}
	if !d.cut["live/"+name] {
		j.Check(d.t, d.what+": "+name, there)
	}
}

func (d *damaged) write(name string, j *damagetest.Judge) {
	d.t.Helper()
	d.value++
	id, value := fmt.Sprint("p", d.value%30), fmt.Sprint(d.value)
	method, body := http.MethodPut, fmt.Sprintf(`{"type":"Feature","geometry":{"type":"Point","coordinates":[8,47]},"properties":{"v":%q}}`, value)
	if d.value%4 == 0 {
		method, body, value = http.MethodDelete, "", ""
	}
	switch code, body := d.do(method, "/points/"+name+"/"+id, body); {
	case code/100 == 2, value == "" && code == http.StatusNotFound:
		j.RecordAcked(id, value)
	case d.refused("live/"+name, code, body):
		j.RecordTried(id, value)
	default:
		d.errorf("%s of %s/%s: %d %.300s", method, name, id, code, body)
	}
}

// askUsage checks the counts. If they are too low, the server must have reported damage.
func (d *damaged) askUsage() {
	d.t.Helper()
	code, body := d.do(http.MethodGet, "/usage", "")
	if code != http.StatusOK {
		if !d.refused("usage", code, body) {
			d.errorf("/usage: %d %.300s", code, body)
		}
		return
	}
	var usage struct{ Hours, Days []struct{ Requests int } }
	if err := json.Unmarshal([]byte(body), &usage); err != nil {
		d.errorf("%v in %s", err, body)
	}
	hours, days := 0, 0
	for _, b := range usage.Hours {
		hours += b.Requests
	}
	for _, b := range usage.Days {
		days += b.Requests
	}
	_, status := fetch(d.t, d.admin+"/status")
	reported := d.cut["usage"] || d.hit["usage"] && strings.Contains(status, `{"store":"usage","state":"damaged"`)
	if reported {
		d.told["usage"] = true
	}
	if max(hours, days) > d.most+d.sent || min(hours, days) < d.least+d.sent && !reported {
		d.errorf("%d and %d requests are counted, between %d and %d were made before, and then %d; the status is %s", hours, days,
			d.least, d.most, d.sent, status)
	}
}

// end ends the server, either by a signal or by killing it.
func (d *damaged) end(kill bool) {
	d.t.Helper()
	var left damagetest.Image
	if kill && d.kill != nil {
		d.kill()
	} else if kill {
		left = d.read()
	}
	err := d.stop()
	d.most += d.sent
	switch {
	case kill && d.kill != nil:
	case kill:
		d.put(left)
	case err == nil && !d.told["usage"]:
		d.least += d.sent
	case err != nil && len(d.hit) == 0:
		d.errorf("it ends with %v", err)
	}
}

func (d *damaged) read() damagetest.Image {
	d.t.Helper()
	all := damagetest.Image{}
	for _, dir := range []string{"data", "live", "usage"} {
		part, err := damagetest.ReadImage(vfs.Default, filepath.Join(d.root, dir))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			d.t.Fatal(err)
		}
		maps.Copy(all, part)
	}
	return all
}

// put sets the directories to the state of an image.
func (d *damaged) put(image damagetest.Image) {
	d.t.Helper()
	if err := image.Write(true, d.read().Differ(image)...); err != nil {
		d.t.Fatal(err)
	}
}

// damage changes some of the files that a directory has at one random depth. Among all files, it
// would seldom choose the few files that describe the others.
func (d *damaged) damage(r *rand.Rand, dir string, anew bool) (differ []string) {
	d.t.Helper()
	whole := d.read().Filter(func(name string) bool { return strings.HasPrefix(name, filepath.Join(d.root, dir)+"/") })
	var depths []int
	for name := range whole {
		depths = append(depths, strings.Count(name, "/"))
	}
	slices.Sort(depths)
	if depths = slices.Compact(depths); len(depths) == 0 {
		return nil // all is gone
	}
	depth := depths[r.IntN(len(depths))]
	part := whole.Filter(func(name string) bool { return strings.Count(name, "/") == depth })
	changed, what := part.Damage(r)
	d.what += "; " + strings.ReplaceAll(what, d.root+"/", "")
	differ = part.Differ(changed)
	for _, name := range differ {
		d.hit[d.owner(name)] = true
		d.mapped = d.mapped || !anew && strings.HasSuffix(name, ipgeo.IndexFileName)
	}
	if err := changed.Write(anew, differ...); err != nil {
		d.t.Fatal(err)
	}
	return differ
}

// between damages the files of a stopped server, and starts it again. If the server has reported
// damage, the files are then restored, and all answers must be correct again.
func (d *damaged) between(r *rand.Rand, dir string, damages int) {
	d.t.Helper()
	before := d.read()
	for range damages {
		d.damage(r, dir, true)
	}
	after := d.read()
	started := d.start()
	if started {
		d.ask()
		d.end(r.IntN(2) == 0)
	}
	now := d.read()
	for _, name := range after.Differ(now) {
		if strings.HasPrefix(name, filepath.Join(d.root, "data")+"/") {
			d.errorf("%s was changed", name)
		}
	}
	if len(d.told) == 0 {
		return
	}
	for _, name := range before.Differ(after) {
		if was, is := after[name]; string(now[name]) == string(was) && is == (now[name] != nil) {
			if err := before.Write(true, name); err != nil {
				d.t.Fatal(err)
			}
		}
	}
	d.what += "; which was undone"
	clear(d.hit)
	clear(d.told)
	if d.start() {
		d.ask()
		d.end(false)
	}
}

// running damages files that a running server has open. Later it restarts the server on the damaged
// files.
func (d *damaged) running(r *rand.Rand, dir string, damages int) {
	d.t.Helper()
	if !d.start() {
		return
	}
	if r.IntN(2) == 0 {
		d.ask() // data in memory then is not read again
	}
	kill := r.IntN(2) == 0
	for range damages {
		anew := r.IntN(2) == 0
		d.what += map[bool]string{false: "; in place", true: "; anew"}[anew]
		// The server continues to write its open ledger. When it removes a log, and when it ends,
		// it checks whether the file still exists at its path. If the file was replaced, the ledger
		// there is an older one. Its missing records look like the truncated end after a crash.
		for _, name := range d.damage(r, dir, anew) {
			d.cut[d.owner(name)] = d.cut[d.owner(name)] || kill && anew && filepath.Base(name) == "ledger"
		}
		d.ask()
	}
	d.end(kill)
	d.what += "; and started again"
	if d.start() {
		d.ask()
		d.end(false)
	}
}

// newDamaged makes the directories. It returns the states after a server was stopped, and after a
// server was killed.
func newDamaged(t *testing.T) (d *damaged, states []*known) {
	t.Helper()
	root := t.TempDir()
	d = &damaged{
		root:  root,
		t:     t,
		known: &known{live: map[string]*damagetest.Judge{}},
		hit:   map[string]bool{},
		told:  map[string]bool{},
		cut:   map[string]bool{},
	}
	c, err := dataset.Open(filepath.Join(root, "data"), toyworld.Open)
	if err == nil {
		err = errors.Join(toyworld.PublishBoundaries(t.Context(), c),
			toyworld.PublishRanges(t.Context(), c, func(yield func(ipgeo.Range, error) bool) {
				for i, a := range damagedAddresses {
					country := ipgeo.Country{ISOCode: string([]byte{'A' + byte(i%26), 'A' + byte(i/26)})}
					if !yield(ipgeo.Range{First: a, Last: a, Record: ipgeo.Record{Country: country}}, nil) {
						return
					}
				}
			}))
	}
	for i := range 3 {
		if err == nil {
			err = toyworld.PublishShops(t.Context(), c, 20*(i+1))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	keys := filepath.Join(root, "keys")
	out, err := command(t, "keys", "new", "judge", "--keys", keys, "--scope", "write:*")
	if err != nil {
		t.Fatal(err)
	}
	d.key = strings.TrimSpace(out)
	d.args = []string{"--data", filepath.Join(root, "data"), "--live", filepath.Join(root, "live"), "--usage", filepath.Join(root, "usage"),
		"--keys", keys, "--anonymous", "--cache", "1MiB", "--admin-listen", "127.0.0.1:0"}
	if !d.start() {
		t.FailNow()
	}
	for _, q := range damagedQuestions() {
		code, body := d.question(q)
		if q.want = fmt.Sprint(code, " ", body); code != http.StatusOK && q.path != "/ip/9.9.9.9" {
			t.Errorf("%s: %d %s", q.path, code, body)
		}
		d.want = append(d.want, q)
	}
	for _, name := range []string{"cars", "vans"} {
		if code, body := d.do(http.MethodPut, "/points/"+name, `{"title":"Judged"}`); code != http.StatusCreated {
			t.Fatal(code, body)
		}
		d.live[name] = damagetest.NewJudge()
		for range 40 {
			d.write(name, d.live[name])
		}
	}
	d.ask()
	d.end(false)
	d.files = d.read()
	states = append(states, d.known.clone())
	if !d.start() {
		t.FailNow()
	}
	d.ask()
	d.end(true)
	d.files = d.read()
	return d, append(states, d.known.clone())
}

// TestDamagedServer damages the directories of a server, between two of its runs and while it runs.
// The server continues to run. Each answer is either correct or reports that damaged data cannot be
// read. The server removes nothing: when the damage is undone, all answers are correct again.
func TestDamagedServer(t *testing.T) {
	testrace.SkipUnderRace(t, "one server is started and asked, again and again")
	rounds := 200
	switch {
	case os.Getenv("QUADRILLE_FULL") != "":
		rounds = 2500
	case testing.Short():
		rounds = 24
	}
	r := testseed.Rand(t)
	d, states := newDamaged(t)
	counts := map[string]int{}
	for round := range rounds {
		d.known = states[r.IntN(len(states))].clone()
		d.put(d.files)
		clear(d.hit)
		clear(d.told)
		clear(d.cut)
		d.process = round%10 == 0
		dir := []string{"data", "live", "usage"}[r.IntN(3)]
		damages := max(1, r.IntN(4))
		when, do := "between runs", d.between
		if r.IntN(2) == 0 {
			when, do = "while it runs", d.running
		}
		d.what = fmt.Sprintf("round %d %s", round, when)
		do(r, dir, damages)
		counts[dir+" "+when] += damages
	}
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%d damages of %s", counts[kind], kind)
	}
}

// asEdited reads a file of keys as if it had been edited, because a changed letter looks like an
// edit. unended is set if the last line is incomplete.
func asEdited(text []byte) (keys map[quota.Hash]quota.Key, unended, ok bool) {
	keys = map[quota.Hash]quota.Key{}
	lines := strings.SplitAfter(string(text), "\n")
	for _, line := range lines {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0][0] == '#' {
			continue
		}
		var hash quota.Hash
		name := keyRE.FindStringSubmatch(fields[0])
		good := name != nil
		if good {
			_, err := hex.Decode(hash[:], []byte(name[2]))
			good = err == nil
		}
		key := quota.Key{}
		for _, field := range fields[1:] {
			limit := limitRE.FindStringSubmatch(field)
			scope := scopeRE.FindStringSubmatch(field)
			switch {
			case limit != nil:
				n, err := strconv.ParseInt(limit[1], 10, 64)
				window := strings.Index("mhd", limit[2])
				good = good && err == nil && n > 0 && n <= 1e15 && key.Limits[window] == 0
				key.Limits[window] = n
			case scope != nil:
				key.Scopes = append(key.Scopes, quota.Scope{Write: scope[1] == "write", Collection: scope[2]})
			default:
				good = false
			}
		}
		if !good && !strings.HasSuffix(line, "\n") {
			return keys, true, false
		}
		if _, twice := keys[hash]; twice || !good {
			return nil, false, false
		}
		key.Name = name[1]
		keys[hash] = key
	}
	return keys, false, true
}

var (
	keyRE   = regexp.MustCompile(`^([A-Za-z0-9._-]{1,64}):([0-9a-fA-F]{64})$`)
	limitRE = regexp.MustCompile(`^([0-9]+)/1([mhd])$`)
	scopeRE = regexp.MustCompile(`^(read|write):(\*|[a-z0-9_-]{1,64})$`)
)

// TestDamagedKeys damages a file of keys before a start and while it is in use. The file is either
// read exactly or refused with its name in the error. In the latter case the previous keys stay in
// use, and the log reports it.
func TestDamagedKeys(t *testing.T) {
	testrace.SkipUnderRace(t, "one server is started and asked, again and again")
	rounds := 400
	switch {
	case os.Getenv("QUADRILLE_FULL") != "":
		rounds = 5000
	case testing.Short():
		rounds = 100
	}
	r := testseed.Rand(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "keys")
	var keys []string
	for i, more := range [][]string{
		{"--limit=600/1m", "--limit=100000/1d"},
		{"--scope=write:*"},
		{"--scope=read:shops", "--scope=write:cars", "--limit=5/1h"},
		{},
	} {
		out, err := command(t, append([]string{"keys", "new", fmt.Sprint("client-", i), "--keys", file}, more...)...)
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, strings.TrimSpace(out))
		text, err := os.ReadFile(file)
		if err == nil && i == 1 {
			text = append(text, "\n# Jack's, until spring\n"...)
			err = errors.Join(os.WriteFile(file, text, 0o600), os.WriteFile(filepath.Join(dir, "keys.old"), text, 0o600))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	testfile.Write(t, filepath.Join(dir, "other.bin"), bytes.Repeat([]byte{0xde, 0xad}, 1<<17))
	whole, err := damagetest.ReadImage(vfs.Default, dir)
	if err != nil {
		t.Fatal(err)
	}
	clock := time.Now()
	// put replaces an image by another. Files get new modification times, as if they were written a
	// moment later.
	put := func(was, now damagetest.Image, anew bool) {
		t.Helper()
		if err := now.Write(anew, was.Differ(now)...); err != nil {
			t.Fatal(err)
		}
		clock = clock.Add(time.Second)
		if _, is := now[file]; is {
			if err := os.Chtimes(file, clock, clock); err != nil {
				t.Fatal(err)
			}
		}
	}
	same := func(what string, got *quota.Keys, want map[quota.Hash]quota.Key) {
		t.Helper()
		if got.Len() != len(want) {
			t.Errorf("%s: %d keys are in use, want %d", what, got.Len(), len(want))
		}
		for _, key := range keys {
			k, is := want[quota.HashOf(key)]
			if found := got.Find(key); (found != nil) != is || is && !reflect.DeepEqual(*found, k) {
				t.Errorf("%s: it takes %+v for %+v", what, found, k)
			}
		}
	}
	all, _, ok := asEdited(whole[file])
	if !ok || len(all) != len(keys) {
		t.Fatal(ok, all)
	}
	var log syncBuffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	damages, atStart, refused := 0, 0, 0
	for round := range rounds {
		image, what := whole, fmt.Sprint("round ", round)
		for more := r.IntN(3); more > 0 || slices.Equal(image[file], whole[file]); more-- {
			var another string
			image, another = image.Damage(r)
			what += "; " + another
			damages++
		}
		edited, unended, valid := asEdited(image[file])
		_, is := image[file]
		valid = valid && is
		cfg := &guardConfig{Keys: file}
		log.b.Reset()
		before := r.IntN(2) == 0
		if before {
			put(whole, image, true)
		}
		g, stop, err := cfg.guard(t.Context(), logger)
		switch {
		case before && (valid || unended && len(edited) > 0):
			if err != nil {
				t.Errorf("%s: %v", what, err)
				break
			}
			same(what, g.Keys(), edited)
			if logged := log.String(); unended && !strings.Contains(logged, file+": line ") ||
				len(edited) == 0 && !strings.Contains(logged, "no key") {
				t.Errorf("%s: it says %q", what, logged)
			}
		case before:
			refused++
			if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), file) ||
				is && !strings.Contains(err.Error(), "line ") {
				t.Errorf("%s: %v", what, err)
			}
		case err != nil:
			t.Fatal(err)
		default:
			put(whole, image, r.IntN(2) == 0)
			cfg.again()
			logged := log.String()
			switch _, differs := slices.BinarySearch(whole.Differ(image), file); {
			case valid:
				same(what, g.Keys(), edited)
				if differs && !strings.Contains(logged, "changed files are in use") || len(edited) == 0 && !strings.Contains(logged, "no key") {
					t.Errorf("%s: it says %q", what, logged)
				}
			default:
				refused++
				same(what, g.Keys(), all)
				if !strings.Contains(logged, "level=ERROR") || !strings.Contains(logged, file) || is && !strings.Contains(logged, "line ") {
					t.Errorf("%s: it says %q", what, logged)
				}
			}
		}
		if now, err := damagetest.ReadImage(vfs.Default, dir); err != nil || len(image.Differ(now)) > 0 {
			t.Errorf("%s: %v %q changed", what, err, image.Differ(now))
		}
		put(image, whole, true)
		if before {
			atStart++
		} else if cfg.again(); err == nil {
			same(what+", and undone", g.Keys(), all)
		}
		if err == nil {
			if err := stop(); err != nil {
				t.Error(err)
			}
		}
	}
	t.Logf("%d damages of files, %d of keys before a start and %d of keys in use; %d were refused", damages, atStart, rounds-atStart, refused)
}
