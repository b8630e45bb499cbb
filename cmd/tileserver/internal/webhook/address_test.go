package webhook

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"quadrille/cmd/tileserver/internal/endpoint"
)

func TestIsPublic(t *testing.T) {
	for text, want := range map[string]bool{
		"8.8.8.8": true, "1.1.1.1": true, "100.128.0.1": true, "172.32.0.1": true, "223.255.255.254": true, "::ffff:8.8.8.8": true,
		"2606:4700:4700::1111": true, "2001:4860:4860::8888": true, "2a00:1450::1": true,

		"0.0.0.0":         false,
		"0.1.2.3":         false,
		"10.0.0.1":        false,
		"100.64.0.1":      false,
		"127.0.0.1":       false,
		"127.255.0.1":     false,
		"169.254.169.254": false,
		"172.16.0.1":      false,
		"192.0.0.8":       false,
		"192.0.2.1":       false,
		"192.88.99.1":     false,
		"192.168.1.1":     false,
		"198.18.0.1":      false,
		"198.51.100.1":    false,
		"203.0.113.1":     false, "224.0.0.1": false, "240.0.0.1": false, "255.255.255.255": false,
		"::":                     false,
		"::1":                    false,
		"::127.0.0.1":            false,
		"::8.8.8.8":              false,
		"::ffff:127.0.0.1":       false,
		"::ffff:169.254.169.254": false,
		"::ffff:0:8.8.8.8":       false,
		"64:ff9b::7f00:1":        false,
		"64:ff9b::808:808":       false,
		"64:ff9b:1::1":           false,
		"2002:7f00:1::":          false,
		"2002:808:808::1":        false,
		"2001:0:808:808::1":      false,
		"100::1":                 false,
		"2001:db8::1":            false,
		"3fff::1":                false,
		"2001:10::1":             false,
		"fc00::1":                false,
		"fd00::1":                false,
		"fe80::1":                false,
		"fe80::1%lo":             false,
		"2606:4700::1%lo":        false, "fec0::1": false, "ff02::1": false, "4000::1": false, "5f00::1": false,
	} {
		if got := isPublic(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
	if isPublic(netip.Addr{}) {
		t.Error("no address is public")
	}
}

func TestCheck(t *testing.T) {
	public, private := &Sender{}, &Sender{Config: Config{AllowPrivate: true}}
	for _, tt := range []struct {
		url             string
		public, private bool
	}{
		{"https://example.org", true, true}, {"https://example.org:8443/a?b=c", true, true}, {"https://8.8.8.8/", true,
			true}, {"https://[2606:4700::1]/", true, true},
		{"https://example.org./", true, true}, {"https://" + strings.Repeat("a.", 900) + "org", true, true},
		{"http://example.org", false, true}, {"https://127.0.0.1/", false, true}, {"https://localhost:5/", false,
			true}, {"https://LOCALHOST./", false, true},
		{"https://a.localhost/", false, true}, {"https://[::1]/", false, true}, {"https://[::ffff:10.0.0.1]/", false,
			true}, {"https://[64:ff9b::a00:1]/", false, true},
		{"https://169.254.169.254/latest", false, true}, {"https://[fe80::1%25lo]/", false, true}, {"https://[2002:7f00:1::]/", false, true},
		{"", false, false}, {"example.org", false, false}, {"//example.org", false, false}, {"ftp://example.org", false,
			false}, {"file:///etc/passwd", false, false},
		{"https:example.org", false, false}, {"https://", false, false}, {"https://:80", false, false}, {"https://example.org:0",
			false, false}, {"https://example.org:99999", false, false},
		{"https://user@example.org", false, false}, {"https://user:pass@example.org", false, false}, {"https://example.org/#x",
			false, false}, {"https://example.org/a b", false, false},
		{"https://example.org/\r\nX: y", false, false}, {"https://exämple.org", false, false}, {
			"https://example.org/" + strings.Repeat("a", MaxURLBytes),
			false,
			false,
		},
	} {
		for s, want := range map[*Sender]bool{public: tt.public, private: tt.private} {
			if err := s.check("h", &Definition{URL: tt.url}); (err == nil) != want ||
				err != nil && (!errors.Is(err, ErrInvalidHook) || !strings.HasSuffix(endpoint.DetailOf(err), ".")) {
				t.Errorf("%.60q, private %v: %v", tt.url, s.AllowPrivate, err)
			}
		}
	}
	for _, name := range []string{"", "A", "1", "a/b", "a b", strings.Repeat("a", 41)} {
		if err := public.check(name, &Definition{URL: "https://example.org"}); !errors.Is(err, ErrInvalidHook) {
			t.Errorf("the name %q: %v", name, err)
		}
	}
	for _, d := range []Definition{{Enter: []string{"state:a,b"}}, {Within: []string{"1,2"}}, {Within: []string{"1,2", "3"}},
		{BBox: []string{"1,2,3"}}, {BBox: []string{"1,5,2,4"}},
		{Leave: []string{""}}, {Within: make([]string, 101)}, {Enter: []string{strings.Repeat("x", 9000)}}} {
		if _, err := d.fences(); err == nil {
			t.Errorf("%+v", d)
		}
	}
}

// resolver returns a resolver that resolves every name to one address, and reports each query.
func resolver(to netip.Addr, asked chan<- bool) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe() // which DNS over TCP goes over
		go func() {
			defer server.Close()
			for {
				var length [2]byte
				if _, err := server.Read(length[:]); err != nil {
					return
				}
				q := make([]byte, binary.BigEndian.Uint16(length[:]))
				if _, err := server.Read(q); err != nil {
					return
				}
				end := 12
				for q[end] != 0 {
					end += int(q[end]) + 1
				}
				end += 5
				kind := binary.BigEndian.Uint16(q[end-4:])
				a := append([]byte{}, q[:end]...)
				a[2], a[3] = 0x81, 0x80
				copy(a[4:12], []byte{0, 1, 0, 0, 0, 0, 0, 0})
				if bytes := to.AsSlice(); kind == 1 && len(bytes) == 4 || kind == 28 && len(bytes) == 16 {
					a[7] = 1
					a = append(a, 0xc0, 12, 0, byte(kind), 0, 1, 0, 0, 0, 0, 0, byte(len(bytes)))
					a = append(a, bytes...)
				}
				select {
				case asked <- true:
				default:
				}
				if _, err := server.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(a))), a...)); err != nil {
					return
				}
			}
		}()
		return client, nil
	}}
}

// A name that resolves to an address that is not public is not dialled.
func TestForbiddenNames(t *testing.T) {
	for _, to := range []string{"127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "fd00::1", "64:ff9b::7f00:1", "2002:7f00:1::1"} {
		t.Run(to, func(t *testing.T) {
			live, l := newCollection(t, 0)
			asked := make(chan bool, 1)
			s := start(t, Config{Live: live, Resolver: resolver(netip.MustParseAddr(to), asked)})
			put(t, s, l, "h", Definition{URL: "https://rebound.example.org/"})
			move(t, l, "a", 1, 1)
			<-asked
			until(t, "it is refused", func() bool {
				st, _ := s.Get(l, "h")
				return st.Failures > 1 && strings.Contains(st.Error, "not public")
			})
			s.Deliveries(func(outcome string, n int64) {
				if n > 0 != (outcome == "forbidden") {
					t.Errorf("%d requests are %s", n, outcome)
				}
			})
		})
	}
}

// A proxy from the environment is not used, because it would dial instead of the server.
func TestNoProxy(t *testing.T) {
	if newClient(&Config{}).Transport.(*http.Transport).Proxy != nil {
		t.Error("hooks go through a proxy")
	}
}
