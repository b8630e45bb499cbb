package main

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// clockConn is a connection with a clock of the test's: a Read waits until its
// deadline, if it has one.
type clockConn struct {
	net.Conn
	deadline time.Time
	sets     int
}

func (c *clockConn) SetReadDeadline(t time.Time) error { c.deadline = t; c.sets++; return nil }

// The timer is never later than the wanted deadline, so no timeout is late; and the reader gets a
// timeout only after the wanted time. A deadline in the distant past may lack a timer only while no
// call is running, and then no call may begin.
func TestLazyDeadlineProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &clockConn{}
		var d lazyDeadline
		d.set = c.SetReadDeadline
		for range rapid.IntRange(1, 30).Draw(t, "moves") {
			var want time.Time
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
			case 1:
				want = time.Unix(1, 0)
			default:
				want = time.Now().Add(time.Duration(rapid.IntRange(-5, 300).Draw(t, "seconds")) * time.Second)
			}
			if rapid.Bool().Draw(t, "ends") && d.running > 0 {
				d.leave()
			}
			if err := d.want(want); err != nil {
				t.Fatal(err)
			}
			begun := rapid.Bool().Draw(t, "begins")
			if begun && d.enter() == atOnce(want) {
				t.Fatalf("wanted %v: a call began %v", want, atOnce(want))
			}
			if atOnce(want) && d.running == 0 {
				continue
			}
			if !want.IsZero() && (c.deadline.IsZero() || c.deadline.After(want)) {
				t.Fatalf("the timer is set for %v, wanted %v", c.deadline, want)
			}
			over := !want.IsZero() && !time.Now().Before(want)
			if rapid.Bool().Draw(t, "fires") && d.early(os.ErrDeadlineExceeded) == over {
				t.Fatalf("wanted %v: fired early %v", want, !over)
			}
		}
	})
}

// A busy connection moves its deadlines often but its timer seldom.
func TestLazyDeadlineSaves(t *testing.T) {
	c := &clockConn{}
	var d lazyDeadline
	d.set = c.SetReadDeadline
	for range 100 { // as net/http does without a background read
		_ = d.want(time.Now().Add(2 * time.Minute))
		_ = d.want(time.Time{})
		_ = d.want(time.Now().Add(10 * time.Second))
	}
	if c.sets > 2 {
		t.Errorf("the timer was set %d times", c.sets)
	}
	for range 100 { // with one that had not begun
		_ = d.want(time.Unix(1, 0))
		_ = d.want(time.Time{})
		_ = d.want(time.Now().Add(10 * time.Second))
	}
	if c.sets > 2 {
		t.Errorf("the timer was set %d times", c.sets)
	}
}

func pair(t *testing.T) (client net.Conn, server *lazyConn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err = net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c, err := lazyListener{l}.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); c.Close() })
	return client, c.(*lazyConn)
}

func TestLazyConn(t *testing.T) {
	client, server := pair(t)
	b := make([]byte, 1)

	// A timer that fires before the deadline does not end a Read.
	if err := server.SetReadDeadline(time.Now().Add(time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if err := server.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(20*time.Millisecond, func() { _, _ = client.Write([]byte("x")) })
	if n, err := server.Read(b); n != 1 || err != nil {
		t.Fatalf("%d bytes, %v", n, err)
	}
	// A deadline that has passed ends a Read.
	if err := server.SetReadDeadline(time.Now().Add(time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Read(b); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("%v, want a timeout", err)
	}
	// A running Read can be interrupted, as net/http interrupts its background read, and the
	// connection stays usable.
	if err := server.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := server.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%v, want a timeout", err)
		}
	})
	time.Sleep(5 * time.Millisecond)
	if err := server.SetReadDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	if err := server.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Write(b); err != nil {
		t.Fatal(err)
	}
	if n, err := server.Read(b); n != 1 || err != nil {
		t.Fatalf("%d bytes, %v", n, err)
	}

	// A Read that begins later also ends immediately, even if data is available, until the deadline
	// moves.
	if _, err := client.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := server.SetReadDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if n, err := server.Read(b); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("%d bytes, %v; want a timeout", n, err)
		}
	}
	if err := server.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	if n, err := server.Read(b); n != 1 || err != nil {
		t.Fatalf("%d bytes, %v", n, err)
	}

	// A Write that an early timeout interrupts continues at the same byte.
	big := make([]byte, 8<<20)
	for i := range big {
		big[i] = byte(i * 7 >> 3)
	}
	if err := server.SetWriteDeadline(time.Now().Add(2 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if err := server.SetWriteDeadline(time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	wg.Go(func() {
		if n, err := server.Write(big); n != len(big) || err != nil {
			t.Errorf("%d bytes written, %v", n, err)
		}
		if err := server.CloseWrite(); err != nil {
			t.Error(err)
		}
	})
	time.Sleep(10 * time.Millisecond)
	got, err := io.ReadAll(client)
	wg.Wait()
	if err != nil || string(got) != string(big) {
		t.Fatalf("%d bytes, %v; want the %d written", len(got), err, len(big))
	}
	// A Write that the peer does not read ends at its deadline.
	client2, server2 := pair(t)
	_ = client2
	if err := server2.SetDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := server2.Write(make([]byte, 64<<20)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("%d bytes, %v; want a timeout", n, err)
	}
}
