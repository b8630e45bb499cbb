package hbasestore

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/thrift/lib/go/thrift"
)

// object is a Thrift struct on the wire: its fields by their ids. Values are bool, int8, int16,
// int32, int64, float64, string (of any bytes), object, []any and map[any]any.
type object map[int16]any

func readObject(p thrift.TProtocol) (object, error) {
	ctx := context.Background()
	if _, err := p.ReadStructBegin(ctx); err != nil {
		return nil, err
	}
	o := object{}
	for {
		_, t, id, err := p.ReadFieldBegin(ctx)
		if err != nil {
			return nil, err
		}
		if t == thrift.STOP {
			return o, p.ReadStructEnd(ctx)
		}
		if _, ok := o[id]; ok {
			return nil, fmt.Errorf("field %d comes twice", id)
		}
		if o[id], err = readValue(p, t); err != nil {
			return nil, err
		}
		if err := p.ReadFieldEnd(ctx); err != nil {
			return nil, err
		}
	}
}

func readValue(p thrift.TProtocol, t thrift.TType) (any, error) {
	ctx := context.Background()
	switch t {
	case thrift.BOOL:
		return p.ReadBool(ctx)
	case thrift.BYTE:
		return p.ReadByte(ctx)
	case thrift.I16:
		return p.ReadI16(ctx)
	case thrift.I32:
		return p.ReadI32(ctx)
	case thrift.I64:
		return p.ReadI64(ctx)
	case thrift.DOUBLE:
		return p.ReadDouble(ctx)
	case thrift.STRING:
		b, err := p.ReadBinary(ctx)
		return string(b), err
	case thrift.STRUCT:
		return readObject(p)
	case thrift.LIST:
		of, n, err := p.ReadListBegin(ctx)
		list := []any{}
		for i := 0; i < n && err == nil; i++ {
			var v any
			v, err = readValue(p, of)
			list = append(list, v)
		}
		if err != nil {
			return nil, err
		}
		return list, p.ReadListEnd(ctx)
	case thrift.MAP:
		kt, vt, n, err := p.ReadMapBegin(ctx)
		m := map[any]any{}
		for i := 0; i < n && err == nil; i++ {
			var k any
			if k, err = readValue(p, kt); err == nil {
				m[k], err = readValue(p, vt)
			}
		}
		if err != nil {
			return nil, err
		}
		return m, p.ReadMapEnd(ctx)
	}
	return nil, fmt.Errorf("a value of type %v is not expected", t)
}

func typeOf(v any) thrift.TType {
	switch v.(type) {
	case bool:
		return thrift.BOOL
	case int8:
		return thrift.BYTE
	case int16:
		return thrift.I16
	case int32:
		return thrift.I32
	case int64:
		return thrift.I64
	case float64:
		return thrift.DOUBLE
	case string:
		return thrift.STRING
	case object:
		return thrift.STRUCT
	case []any:
		return thrift.LIST
	case map[any]any:
		return thrift.MAP
	}
	panic(fmt.Sprintf("%T does not travel", v))
}

func writeObject(p thrift.TProtocol, o object) error {
	ctx := context.Background()
	if err := p.WriteStructBegin(ctx, ""); err != nil {
		return err
	}
	var ids []int16
	for id := range o {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		if err := p.WriteFieldBegin(ctx, "", typeOf(o[id]), id); err != nil {
			return err
		}
		if err := writeValueOf(p, o[id]); err != nil {
			return err
		}
		if err := p.WriteFieldEnd(ctx); err != nil {
			return err
		}
	}
	if err := p.WriteFieldStop(ctx); err != nil {
		return err
	}
	return p.WriteStructEnd(ctx)
}

func writeValueOf(p thrift.TProtocol, v any) error {
	ctx := context.Background()
	switch v := v.(type) {
	case bool:
		return p.WriteBool(ctx, v)
	case int8:
		return p.WriteByte(ctx, v)
	case int16:
		return p.WriteI16(ctx, v)
	case int32:
		return p.WriteI32(ctx, v)
	case int64:
		return p.WriteI64(ctx, v)
	case float64:
		return p.WriteDouble(ctx, v)
	case string:
		return p.WriteBinary(ctx, []byte(v))
	case object:
		return writeObject(p, v)
	case []any:
		of := thrift.TType(thrift.STRUCT)
		if len(v) > 0 {
			of = typeOf(v[0])
		}
		if err := p.WriteListBegin(ctx, of, len(v)); err != nil {
			return err
		}
		for _, item := range v {
			if err := writeValueOf(p, item); err != nil {
				return err
			}
		}
		return p.WriteListEnd(ctx)
	case map[any]any:
		if err := p.WriteMapBegin(ctx, thrift.STRING, thrift.STRING, len(v)); err != nil {
			return err
		}
		for k, item := range v {
			if err := writeValueOf(p, k); err != nil {
				return err
			}
			if err := writeValueOf(p, item); err != nil {
				return err
			}
		}
		return p.WriteMapEnd(ctx)
	}
	panic(fmt.Sprintf("%T does not travel", v))
}

// These fields of an object are optional.

func text(o object, id int16) string { s, _ := o[id].(string); return s }

func raw(o object, id int16) []byte { return []byte(text(o, id)) }

func number(o object, id int16, absent int64) int64 {
	switch n := o[id].(type) {
	case int32:
		return int64(n)
	case int64:
		return n
	}
	return absent
}

func child(o object, id int16) object { c, _ := o[id].(object); return c }

func items(o object, id int16) (list []object) {
	all, _ := o[id].([]any)
	for _, v := range all {
		c, _ := v.(object)
		list = append(list, c)
	}
	return list
}
