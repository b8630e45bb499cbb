package ip

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"net/url"

	"github.com/labstack/echo/v4"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/ipdatabase"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/ipgeo"
)

// postBatch answers POST /ip/batch, with an address in each line of the body.
func (s *Handlers) postBatch(c echo.Context, p *endpoint.Params) error {
	r := c.Request()
	q, err := s.askAddresses(p)
	if err != nil {
		return err
	}
	b := &batch{Batch: s.NewBatch(c, s.Batch), q: &q, common: p, lines: p.Endpoint().LineParamNames(), members: url.Values{}}
	defer b.Release()
	b.Text = true
	c.Response().Header()[ipdatabase.Header] = q.now.Header
	// The context of the request ends when the client closes its half of the connection. A client
	// may do this after sending the whole body. Writing to a disconnected client fails.
	ctx := context.WithoutCancel(r.Context())
	b.Answer = func() error {
		return b.Each(errBatchLine, func(line []byte, refused error) (err error) {
			switch {
			case refused != nil:
				b.RefuseLine("", "", refused)
			case len(line) == 0:
				b.Body = append(b.Body, '\n')
			default:
				err = b.locate(ctx, line)
			}
			if err != nil {
				return err
			}
			return b.WriteIfFull()
		})
	}
	b.Refuse = func(err error) { b.RefuseLine("", "", err) }
	return b.Run()
}

// batch is the state of a batch.
type batch struct {
	*web.Batch
	q   *addressQuery
	res ipgeo.Result

	common  *endpoint.Params     // in the address of the request
	lines   *endpoint.ParamNames // the parameters that a line may have
	members url.Values           // of a line
}

// locate answers a line. Its error is an error of the store; errors of the line are part of the
// answer.
func (b *batch) locate(ctx context.Context, line []byte) error {
	addr, part, err := b.read(line)
	if err != nil {
		b.RefuseLine("", "", err)
		return nil
	}
	switch err := b.q.reader.Lookup(ctx, addr, &b.res); {
	case err == nil:
		b.Body = append(appendAnswer(b.Body, b.q.now, &b.res, part), '\n')
	case errors.Is(err, ipgeo.ErrNotFound), errors.Is(err, ipgeo.ErrReserved):
		b.RefuseLine("ip", addr.String(), explainAddress(err, addr))
	default:
		return err
	}
	return nil
}

// read parses a line, and the address in it.
func (b *batch) read(line []byte) (addr netip.Addr, part *ipPart, err error) {
	ip, part, err := b.parse(line)
	if err != nil {
		return addr, nil, err
	}
	if addr, err = ipgeo.ParseAddr(ip); err != nil {
		return addr, nil, errBatchLine
	}
	return addr, part, nil
}

// parse reads a line: an address as plain text or as a JSON string, or an object that may also
// select the fields. The query of the request sets the other parameters.
func (b *batch) parse(line []byte) (ip string, part *ipPart, err error) {
	switch line[0] {
	case '"':
		if n := len(line) - 1; n > 0 && line[n] == '"' && !bytes.ContainsAny(line[1:n], `\"`) {
			return string(line[1:n]), b.q.part, nil
		}
		if json.Unmarshal(line, &ip) != nil {
			return "", nil, errBatchLine
		}
		return ip, b.q.part, nil
	case '{':
	default:
		return string(line), b.q.part, nil
	}
	clear(b.members)
	err = b.lines.ReadLine(line, func(name, value string) {
		if name == "ip" {
			ip = value
		} else {
			b.members[name] = []string{value}
		}
	})
	if err != nil || ip == "" {
		if err == nil || errors.Is(err, endpoint.ErrLine) {
			err = errBatchLine
		}
		return "", nil, err
	}
	if len(b.members) == 0 {
		return ip, b.q.part, nil
	}
	for name, values := range b.common.Values() {
		if !b.members.Has(name) {
			b.members[name] = values
		}
	}
	p := b.common.Line(b.members)
	part, err = readPart(&p)
	return ip, part, err
}
