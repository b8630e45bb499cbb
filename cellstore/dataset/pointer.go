package dataset

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"slices"
	"time"

	"quadrille/cellstore"
)

const (
	pointerName = "CURRENT"
	// pointerVersion is the newest version this package reads. It writes 2 for a dropped data set,
	// which programs that read up to 1 do not know, and 1 otherwise.
	pointerVersion = 2
)

// pointer has the listed generations of a data set, and the published one. It is the only record of
// a data set that ever changes.
type pointer struct {
	Version int    `json:"version"`
	Current uint64 `json:"current"` // 0 while the data set is dropped
	// Dropped is the generation that was published when the data set was dropped.
	Dropped uint64 `json:"dropped,omitempty"`
	// Before are the generations that rollbacks publish, in the order of their service. Nil means
	// all listed generations below the published one, as before any rollback. Older programs do not
	// know the field and use the numbers.
	Before []uint64 `json:"before,omitzero"`
	// Last is the highest number known. Numbers are not used again, so that data cached under a
	// number stays correct. This holds until Unpublish and Prune have removed the pointer too.
	Last        uint64  `json:"last"`
	Generations []entry `json:"generations"` // ascending; those that exist
	// Unread are numbers up to Last. Their generations were stored when Last passed these numbers,
	// but could not be decoded. They have never been listed, and will be listed once they can be
	// read.
	Unread []uint64 `json:"unread,omitempty"`
	// Superseded holds, in a Depot, the time when each other listed generation ceased to be the
	// published one.
	Superseded map[uint64]time.Time `json:"superseded,omitempty"`
	// Checksum is the CRC-32C of the text before it. Older programs do not write it.
	Checksum string `json:"crc32c,omitempty"`
}

// checksumKey begins the end of the text, which the checksum does not cover.
var checksumKey = []byte(",\n  \"crc32c\":")

func checksum(b []byte) string {
	return fmt.Sprintf("%08x", crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
}

// entry identifies one generation. Equal entries mean the same data.
type entry struct {
	Generation uint64 `json:"generation"`
	Manifest   string `json:"manifest_sha256"`
}

func (p *pointer) find(generation uint64) (entry, bool) {
	i, ok := slices.BinarySearchFunc(p.Generations, generation, func(e entry, g uint64) int {
		return cmp.Compare(e.Generation, g)
	})
	if !ok {
		return entry{}, false
	}
	return p.Generations[i], true
}

// lists reports whether exactly this generation is listed, and not another one with its number.
func (p *pointer) lists(e entry) bool {
	have, ok := p.find(e.Generation)
	return ok && have == e
}

// add lists a generation that is not listed.
func (p *pointer) add(e entry) {
	p.Generations = append(p.Generations, e)
	slices.SortFunc(p.Generations, func(a, b entry) int { return cmp.Compare(a.Generation, b.Generation) })
}

// before returns the listed generations that were published before the published one, or
// before the one that was dropped, in the order of their service. Generations that a rollback has
// withdrawn are left out.
func (p *pointer) before() []uint64 {
	if p.Before == nil {
		return p.below()
	}
	return slices.DeleteFunc(slices.Clone(p.Before), func(n uint64) bool { _, listed := p.find(n); return !listed })
}

// below returns, in ascending order, the numbers of the listed generations below the published one,
// or below the one that was dropped.
func (p *pointer) below() []uint64 {
	numbers, last := []uint64{}, cmp.Or(p.Current, p.dropped())
	for _, e := range p.Generations {
		if e.Generation < last {
			numbers = append(numbers, e.Generation)
		}
	}
	return numbers
}

// serve makes a listed generation the published one. If it was published before, this is a
// rollback: later rollbacks skip the generations that were published after it.
func (p *pointer) serve(generation uint64) {
	before, was := p.before(), cmp.Or(p.Current, p.dropped())
	if i := slices.Index(before, generation); i >= 0 {
		before = before[:i]
	} else if was != 0 && was != generation {
		before = append(before, was)
	}
	p.Current, p.Dropped, p.Before = generation, 0, before
}

// dropped returns the generation that a rollback of a dropped data set
// publishes: the one that was published before, or the newest if that one is
// gone. It returns 0 if the data set is not dropped, or has no generation left.
func (p *pointer) dropped() uint64 {
	if p.Current != 0 || len(p.Generations) == 0 {
		return 0
	}
	if _, ok := p.find(p.Dropped); ok {
		return p.Dropped
	}
	return p.Generations[len(p.Generations)-1].Generation
}

// supersede records now as the time when the generation was ceased to be the published one. It does
// nothing if that generation is still published. A recorded time in the future comes from a clock
// that was ahead, and is set to now.
func (p *pointer) supersede(was uint64, now time.Time) {
	since := map[uint64]time.Time{}
	now = now.UTC().Truncate(time.Second)
	for _, e := range p.Generations {
		if e.Generation == p.Current {
			continue
		}
		at, ok := p.Superseded[e.Generation]
		if !ok || at.After(now) || e.Generation == was {
			at = now
		}
		since[e.Generation] = at
	}
	p.Superseded = since
}

func decodePointer(b []byte) (*pointer, error) {
	var v struct{ Version int }
	if err := json.Unmarshal(b, &v); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBadPointer, err)
	}
	// Versions that no program writes count as damage, see below.
	if err := cellstore.CheckLayout("CURRENT", max(v.Version, 1), 1, pointerVersion, ""); err != nil {
		return nil, err
	}
	p := new(pointer)
	if err := json.Unmarshal(b, p); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBadPointer, err)
	}
	if at := bytes.LastIndex(b, checksumKey); p.Checksum != "" && (at < 0 || p.Checksum != checksum(b[:at])) {
		return nil, fmt.Errorf("%w: its checksum is another", ErrBadPointer)
	}
	if p.Version < 1 || p.Last > maxGeneration {
		return nil, fmt.Errorf("%w: version %d, last generation %d", ErrBadPointer, p.Version, p.Last)
	}
	prev := uint64(0)
	for _, e := range p.Generations {
		if e.Generation <= prev || e.Generation > p.Last || !sha256RE.MatchString(e.Manifest) {
			return nil, fmt.Errorf("%w: generation %d, checksum %q", ErrBadPointer, e.Generation, e.Manifest)
		}
		prev = e.Generation
	}
	if _, ok := p.find(p.Current); !ok && (p.Current != 0 || p.Version < 2) {
		return nil, fmt.Errorf("%w: it names generation %d, which it does not list", ErrBadPointer, p.Current)
	}
	return p, nil
}

func encodePointer(p *pointer) ([]byte, error) {
	p.Version = 1
	if p.Current == 0 {
		p.Version = 2
	}
	if p.Before = p.before(); slices.Equal(p.Before, p.below()) {
		p.Before = nil
	}
	p.Checksum = ""
	b, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return nil, err
	}
	p.Checksum = checksum(bytes.TrimSuffix(b, []byte("\n}")))
	if b, err = json.MarshalIndent(p, "", "  "); err != nil {
		return nil, err
	}
	_, err = decodePointer(b)
	return b, err
}
