// Package follow reads the fences that a request names, and reads the events of a collection for
// the sender of the request. Streams of events and webhooks share it, so that both send the same
// events.
package follow

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"quadrille/ask"
	"quadrille/ask/fence"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/problems"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/feature"
	"quadrille/internal/jsontext"
	"quadrille/places/live"
	"quadrille/places/points"
	"quadrille/quadkey"
	"quadrille/tiles"
)

const (
	enterAdvice = "a region as type:id, such as state:us-ks, or a type alone for each of its regions, or several with commas between them"
	maxShapes   = fence.MaxFences * 80 // bytes of a list of circles or boxes
)

// ReadFences reads a set from parameters.
func ReadFences(q *endpoint.Params) (set fence.Set) {
	var f fence.Fences
	f.Enter, f.Leave = readRegions(q, "enter"), readRegions(q, "leave")
	readShapes(q, "within", 3, func(v []float64, name string) bool {
		f.Circles = append(f.Circles, fence.Circle{Name: name, Lat: v[0], Lon: v[1], RadiusM: v[2]})
		return points.CheckPosition(v[0], v[1]) == nil && v[2] > 0 && v[2] <= endpoint.MaxRadiusM
	}, "lat,lon,metres")
	readShapes(q, "bbox", 4, func(v []float64, name string) bool {
		box := quadkey.Box{West: v[0], South: v[1], East: v[2], North: v[3]}
		f.Boxes = append(f.Boxes, fence.Box{Name: name, Box: box})
		return box.Valid()
	}, "west,south,east,north")
	if q.Err != nil {
		return set
	}
	set, err := fence.New(f)
	if err != nil { // the shapes were checked
		q.Refuse("", "Ask for at most "+strconv.Itoa(fence.MaxFences)+" fences; spread the rest over further streams or hooks.")
	}
	return set
}

// readRegions reads a list of regions.
func readRegions(q *endpoint.Params, name string) (list []fence.Region) {
	if !q.Has(name) {
		return nil
	}
	for entry := range strings.SplitSeq(q.Text(name, maxShapes), ",") {
		typ, id, named := strings.Cut(entry, ":")
		if typ == "" || named && id == "" {
			q.Refuse(name, "Set "+name+" to "+enterAdvice+".")
			return nil
		}
		if list = append(list, fence.Region{Type: typ, ID: id}); len(list) > fence.MaxFences {
			break
		}
	}
	return list
}

// readShapes reads a list of circles or boxes, each of n numbers.
func readShapes(q *endpoint.Params, name string, n int, add func(v []float64, text string) bool, shape string) {
	if !q.Has(name) {
		return
	}
	text := q.Text(name, maxShapes)
	parts := strings.Split(text, ",")
	if len(parts)%n != 0 {
		q.Refuse(name, "Set "+name+" to "+shape+", or to several of these one after the other.")
		return
	}
	for i := 0; i < len(parts) && q.Err == nil; i += n {
		var v [4]float64
		ok := true
		for j := range n {
			number, isNumber := quadkey.ParseNumber(parts[i+j])
			v[j], ok = number, ok && isNumber
		}
		if !add(v[:n], name+":"+strings.Join(parts[i:i+n], ",")) || !ok {
			q.Refuse(name, "Set "+name+" to "+shape+" in degrees, or to several of these one after the other.")
		}
	}
}

// CheckRegions returns an error if a region of a set does not exist.
func CheckRegions(ctx context.Context, set *fence.Set, views *ask.Views) error {
	err := set.Check(ctx, views)
	unknown := (*fence.UnknownError)(nil)
	if !errors.As(err, &unknown) || !errors.Is(err, tiles.ErrUnknownType) {
		return err
	}
	v := views.Take(time.Time{})
	defer v.Release()
	g, err := v.Ground()
	if err != nil {
		return err
	}
	return problems.UnknownType(g, unknown.EventType)
}

// Reader reads the events of a collection, and shares the processors with other requests through
// web.CPUScheduler. It belongs to one goroutine.
type Reader struct {
	*fence.Reader
	processors *web.CPUScheduler
}

// NewReader returns a Reader of the events of a set. It starts behind the event with the id after, and
// uses the processors of the parameter from.
func NewReader(set *fence.Set, live *live.Collection, after fence.ID, views *ask.Views, from *web.CPUScheduler) *Reader {
	r := &Reader{set.Follow(live, after, views), from}
	r.Step = web.Step
	return r
}

// Append does the same as fence.Reader.Append, but takes a processor of web.CPUScheduler for the
// client of ctx, because a follower may have a large backlog of moves. Without a backlog and
// without fences, it takes no processor.
func (r *Reader) Append(ctx context.Context, dst []fence.Event) ([]fence.Event, error) {
	if r.IsCheap() {
		return r.Reader.Append(ctx, dst)
	}
	err := r.processors.InTurn(ctx, func(in context.Context) (err error) {
		dst, err = r.Reader.Append(in, dst)
		return err
	})
	return dst, err
}

// AppendMembers appends the members of a JSON object that describe an event, each with a comma
// before it. They do not include the event's id, type and collection.
func AppendMembers(b []byte, e *fence.Event) []byte {
	b = jsontext.AppendText(b, "fence", e.Fence)
	if e.Fence == "" && e.From != nil {
		b = append(appendPosition(append(b, `,"from":{`...), e.From), '}')
	}
	if e.To != nil {
		b = appendPosition(append(b, ','), e.To)
	} else {
		b = append(b, `,"gone":true`...)
	}
	if e.IsRedraw() {
		b = append(b, `,"redrawn":true`...)
	}
	if e.Expired {
		b = append(b, `,"expired":true`...)
	}
	return strconv.AppendInt(append(b, `,"version":`...), e.Version, 10)
}

func appendPosition(dst []byte, p *[2]float64) []byte {
	return feature.AppendLatLon(dst, quadkey.Position{Lat: p[1], Lon: p[0]})
}
