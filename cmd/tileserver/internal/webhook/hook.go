package webhook

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"quadrille/ask/fence"
	"quadrille/cellstore"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/follow"
	"quadrille/places/live"
)

const (
	// notePrefix is the prefix of the names of the notes in which hooks are stored.
	notePrefix = "hook:"
	// MaxURLBytes bounds the bytes of the address of a hook.
	MaxURLBytes    = 2000
	secretBytes    = 32
	defaultOverlap = live.Duration(24 * time.Hour)
	maxOverlap     = live.Duration(30 * 24 * time.Hour)
	// maxEarlier bounds the earlier secrets of a hook. Their signatures are in one header.
	maxEarlier = 4
)

// Definition is the owner's definition of a hook. A hook without fences gets every move.
type Definition struct {
	URL    string   `json:"url"`
	Enter  []string `json:"enter,omitempty"`
	Leave  []string `json:"leave,omitempty"`
	Within []string `json:"within,omitempty"`
	BBox   []string `json:"bbox,omitempty"`
	// Overlap is the time during which the secret of the replaced hook also signs; nil means a day.
	// It applies to one Put, and is not stored.
	Overlap *live.Duration `json:"overlap,omitempty" doc:"For how long the earlier secret signs, too, such as 24h; at most 720h."`
}

// Loss describes events that a hook skipped because they were no longer stored.
type Loss struct {
	After string    `json:"after,omitempty" doc:"Id of the last event before."`
	At    time.Time `json:"at"`
	Error string    `json:"error,omitempty" doc:"Why they could not be delivered in time."`
}

// State is the part of a hook that clients can see.
type State struct {
	_    struct{} `name:"Hook" doc:"A webhook and its state." schema:"without=overlap"`
	Name string   `json:"name"`
	Definition
	Created      time.Time  `json:"created,omitzero" schema:"required"`
	Delivered    string     `json:"delivered,omitempty" doc:"Id of the last event that the receiver has taken."`
	Failures     int        `json:"failures" doc:"Attempts in a row that have failed." schema:"min=0"`
	Error        string     `json:"error,omitempty" doc:"Why the last attempt failed."`
	Next         *time.Time `json:"next,omitempty" doc:"When the next attempt is."`
	Disabled     bool       `json:"disabled" doc:"The receiver has answered 410, so nothing is sent any more."`
	Lost         *Loss      `json:"lost,omitempty" doc:"Events after this one were not kept any more when the receiver came back."`
	EarlierUntil *time.Time `json:"earlier_secret_until,omitempty" doc:"Until when requests are signed with the secret before, too."`
	Secret       string     `json:"secret,omitempty" doc:"What requests are signed with; only where the hook is made or replaced."`
}

// stored is a hook in the form that is stored with its collection.
type stored struct {
	Definition
	Secret    []byte    `json:"secret"`
	Earlier   []earlier `json:"earlier,omitempty"` // the newest first
	Created   time.Time `json:"created"`
	Position  string    `json:"position,omitempty"` // of the last event that was delivered or passed; "" is before all that are kept
	Delivered string    `json:"delivered,omitempty"`
	Disabled  bool      `json:"disabled,omitempty"`
	Lost      *Loss     `json:"lost,omitempty"`
}

// earlier is an earlier secret that still signs, for receivers that do not have the new one yet.
type earlier struct {
	Secret []byte    `json:"secret"`
	Until  time.Time `json:"until"`
}

// rotate gives the hook a new secret. The secrets of the replaced hook still sign for some time.
func (s *stored) rotate(was *stored, now time.Time, overlap live.Duration) {
	s.Secret = make([]byte, secretBytes)
	_, _ = rand.Read(s.Secret) // never fails
	if was == nil || overlap == 0 {
		return
	}
	until := now.Add(time.Duration(overlap)).UTC().Truncate(time.Second)
	s.Earlier = append([]earlier{{was.Secret, until}}, was.Earlier[:min(len(was.Earlier), maxEarlier-1)]...)
}

func (s *stored) position() fence.ID {
	id, _ := fence.ParseID(s.Position) // "" is the zero id
	return id
}

// secret returns the secret in the notation of Standard Webhooks.
func (s *stored) secret() string { return "whsec_" + base64.StdEncoding.EncodeToString(s.Secret) }

// hook is a hook in service. Only its goroutine changes stored, while holding mu.
type hook struct {
	s      *Sender
	live   *live.Collection
	name   string
	fences fence.Set

	ctx   context.Context // ends when no new request may begin
	end   context.CancelFunc
	hard  context.Context // ends when a running request is cut off
	cut   context.CancelFunc
	ended chan struct{}
	saved time.Time
	dirty bool // stored has changed since saved

	mu       sync.Mutex
	stored   stored
	failures int
	err      string
	next     time.Time
}

// stop ends a hook and its running request. The hook that replaces it may send the request again.
func (h *hook) stop() {
	h.end()
	h.cut()
	<-h.ended
}

func (h *hook) state() State {
	h.mu.Lock()
	defer h.mu.Unlock()
	st := State{
		Name: h.name, Definition: h.stored.Definition, Created: h.stored.Created, Delivered: h.stored.Delivered,
		Failures: h.failures, Error: h.err, Disabled: h.stored.Disabled, Lost: h.stored.Lost,
	}
	if e := h.stored.Earlier; len(e) > 0 && h.live.Now().Before(e[0].Until) {
		st.EarlierUntil = &e[0].Until
	}
	if !h.next.IsZero() {
		next := h.next.UTC().Truncate(time.Second)
		st.Next = &next
	}
	return st
}

func (h *hook) log() *slog.Logger {
	return h.s.Log.With("collection", h.live.Meta().Name, "hook", h.name)
}

// save stores the hook with its collection.
func (h *hook) save(d cellstore.Durability) error {
	text, err := json.Marshal(&h.stored)
	if err != nil {
		return err
	}
	h.saved = time.Now()
	err = h.live.SetNote(context.Background(), notePrefix+h.name, text, d)
	h.dirty = err != nil
	return err
}

// fences reads the fences of a definition.
func (d *Definition) fences() (fence.Set, error) {
	values := url.Values{}
	for _, part := range []struct {
		name   string
		list   []string
		commas int
		one    string
	}{
		{"enter", d.Enter, 0, "state:us-ks"}, {"leave", d.Leave, 0, "state:us-ks"},
		{"within", d.Within, 2, "47.37,8.54,500"}, {"bbox", d.BBox, 3, "8,47,9,48"},
	} {
		for _, text := range part.list {
			if strings.Count(text, ",") != part.commas {
				return fence.Set{}, endpoint.Refuse(ErrInvalidHook, part.name,
					"Set "+part.name+` to a list of texts such as ["`+part.one+`"].`)
			}
		}
		if len(part.list) > 0 {
			values.Set(part.name, strings.Join(part.list, ","))
		}
	}
	q := (&endpoint.Params{}).Line(values)
	set := follow.ReadFences(&q)
	return set, q.Err
}

// check returns an error for an invalid hook.
func (s *Sender) check(name string, d *Definition) error {
	if d.Overlap != nil && (*d.Overlap < 0 || *d.Overlap > maxOverlap) {
		return endpoint.Refuse(ErrInvalidHook, "overlap",
			"Set overlap to a time such as 24h, at most "+time.Duration(maxOverlap).String()+", or to 0s for none.")
	}
	refuse := func(detail string) error { return endpoint.Refuse(ErrInvalidHook, "url", detail) }
	if live.CheckName(name) != nil {
		return endpoint.Refuse(ErrInvalidHook, "name",
			"Name the hook with a letter a to z and then letters a to z, digits, hyphens and underscores, at most "+
				strconv.Itoa(live.MaxNameBytes)+" in all.")
	}
	if d.URL == "" || len(d.URL) > MaxURLBytes {
		return refuse("Set url to the address that events go to, of at most " + strconv.Itoa(MaxURLBytes) + " bytes.")
	}
	u, err := url.Parse(d.URL)
	if err != nil || u.Hostname() == "" || u.Opaque != "" || !isPort(u.Port()) ||
		strings.ContainsFunc(d.URL, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return refuse("Set url to an address such as https://example.org/events, with percent-encoding where needed.")
	}
	switch {
	case u.Scheme != "https" && u.Scheme != "http":
		return refuse("Set url to an address that begins with https://.")
	case u.Scheme != "https" && !s.AllowPrivate:
		return refuse("Set url to an address that begins with https://: this server sends events over http only if it is " +
			"started with --hooks-private.")
	case u.User != nil:
		return refuse("Leave name and password out of url; receivers know us by the signature.")
	case u.Fragment != "":
		return refuse("Leave the part from # on out of url.")
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	addr, err := netip.ParseAddr(host)
	if !s.AllowPrivate && (err == nil && !isPublic(addr) || host == "localhost" || strings.HasSuffix(host, ".localhost")) {
		return refuse("Set url to a public address: this server sends events to private ones only if it is started with --hooks-private.")
	}
	return nil
}

// isPort reports whether a url may name a port; "" means the default port.
func isPort(text string) bool {
	if text == "" {
		return true
	}
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && n > 0
}
