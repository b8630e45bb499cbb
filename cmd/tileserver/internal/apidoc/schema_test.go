package apidoc

import (
	"cmp"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
)

type inner struct {
	Name string `json:"name"`
	Gone string `json:"gone"`
	Same int    `json:"same" doc:"of inner"`
}

type perhaps struct {
	Often bool `json:"often"`
}

type Whole struct {
	_ struct{} `doc:"A whole." schema:"without=gone,open=string|number"`
	inner
	*perhaps
	Same  string         `json:"same,omitempty" doc:"of Whole" schema:"example=1|x,pattern=^[0-9]{1,2}$"`
	At    *time.Time     `json:"at,omitempty"`
	True  bool           `json:"true,omitempty"`
	Sure  []int          `json:"sure,omitzero" schema:"required"`
	Next  *Whole         `json:"next,omitempty"`
	Kinds []string       `json:"kinds" schema:"minItems=1,enum=a|b"`
	Pair  [2]float64     `json:"pair" schema:"min=0,max=1.5"`
	Map   map[string]any `json:"map" schema:"type=string|null"`
	Lists map[string]any `json:"lists,omitempty" schema:"type=string|array"`
	Eight int            `json:"eight" schema:"const=8"`
	Raw   json.RawMessage
	Self  float64  `json:"self" schema:"ref=Value"`
	Skip  chan int `json:"-"`
}

type Value struct {
	_     struct{} `name:"Value" doc:"A value." schema:"is"`
	Value float64  `schema:"min=-1"`
}

type either struct {
	_     struct{} `name:"Either" schema:"is"`
	Whole Whole
	Own   struct {
		X uint8 `json:"x"`
	}
}

// schemasOf returns the components of types and of the types that they refer to, as decoded JSON.
func schemasOf(types []any) (all map[string]object, err error) {
	s := schemas{all: object{}, types: map[string]reflect.Type{}, refs: map[string]reflect.Type{}}
	for _, v := range types {
		s.of(reflect.TypeOf(v))
	}
	raw, err := json.Marshal(s.all)
	if err = cmp.Or(s.check(), err); err == nil {
		err = json.Unmarshal(raw, &all)
	}
	return all, err
}

func TestSchemas(t *testing.T) {
	got, err := schemasOf([]any{either{}, &Value{}})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]object{}
	if err := json.Unmarshal([]byte(`{
		"Value": {"type":"number","minimum":-1,"description":"A value."},
		"Either": {"anyOf":[{"$ref":"#/components/schemas/Whole"},{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]}]},
		"Whole": {"type":"object","description":"A whole.","additionalProperties":{"anyOf":[{"type":"string"},{"type":"number"}]},
			"required":["Raw","eight","kinds","map","name","pair","self","sure"],
			"properties":{
				"name":{"type":"string"}, "often":{"type":"boolean"}, "same":{"type":"string","description":"of Whole","examples":["1","x"],"pattern":"^[0-9]{1,2}$"},
				"at":{"type":"string","format":"date-time"}, "true":{"type":"boolean","description":"False is left out."}, "sure":{"type":"array","items":{"type":"integer"}},
				"next":{"$ref":"#/components/schemas/Whole"}, "kinds":{"type":"array","minItems":1,"items":{"type":"string","enum":["a","b"]}},
				"pair":{"type":"array","minItems":2,"maxItems":2,"items":{"type":"number","minimum":0,"maximum":1.5}},
				"map":{"type":"object","additionalProperties":{"type":["string","null"]}}, "eight":{"const":8}, "lists":{"type":"object","additionalProperties":{"description":"One of: string, array."}},
				"Raw":{}, "self":{"$ref":"#/components/schemas/Value"}}}}`), &want); err != nil {
		t.Fatal(err)
	}
	for name := range want {
		if !reflect.DeepEqual(got[name], want[name]) {
			t.Errorf("%s:\n got %v\nwant %v", name, got[name], want[name])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d components, want %d: %v", len(got), len(want), got)
	}
}

// A type that cannot be described is refused, and the error names the type and the field.
func TestSchemasRefused(t *testing.T) {
	type Twice struct {
		_ struct{} `name:"Whole"`
	}
	type Odd struct {
		_   struct{} `doc:"Odd."`
		Odd string   `schema:"least=1"`
	}
	type Less struct {
		_ struct{} `schema:"without=more"`
	}
	type Channel struct {
		_ struct{}
		C chan int
	}
	type Own struct {
		_ struct{}
		N *ownJSON
	}
	for want, v := range map[string]any{
		"Whole, too": Twice{},
		`Odd: field Odd: the tag schema has no "least"`: Odd{},
		"no member more":  Less{},
		"chan int":        Channel{},
		"marshals itself": Own{},
		"no component":    inner{},
	} {
		if _, err := schemasOf([]any{Whole{}, v}); !errors.Is(err, ErrDescription) || !strings.Contains(err.Error(), want) {
			t.Errorf("%T: error %v, want one about %q", v, err, want)
		}
	}
}

type ownJSON struct{ _ struct{} }

func (ownJSON) MarshalJSON() ([]byte, error) { return []byte("1"), nil }
