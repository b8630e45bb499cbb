package main

import (
	"encoding"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"quadrille/cmd/ingest/internal/job/boundaries"
)

// patching are the flags that change single regions of published layers.
type patching struct {
	Patch      []layerFlag  `env:"QUADRILLE_BOUNDARIES_PATCH" sep:";" placeholder:"TYPE=FILE[:ID[:NAME]]" help:"A published layer and a file of some of its regions, which replace those of the same ids; new ones are added, and all else stays. Ids and names come from the columns from which the layer has them. Repeatable; in the environment several are separated by semicolons."`
	Remove     []regionFlag `env:"-" placeholder:"TYPE:ID" help:"A region to take out of a published layer, of which all else stays; repeatable, or several separated by commas."`
	AllowEmpty bool         `env:"QUADRILLE_BOUNDARIES_ALLOW_EMPTY" help:"Take files of --patch without regions too, which change nothing. Without it they are refused."`
}

// Validate is the parser's hook after all settings have been read.
func (c *boundariesCmd) Validate() error {
	if len(c.Layer) == 0 && len(c.Patch) == 0 && len(c.Remove) == 0 && len(c.Keep.only) == 0 {
		return errors.New("no layers: name at least one by --layer TYPE=FILE[:ID[:NAME]]; --patch and --remove change regions of " +
			"published ones, and --keep=LAYERS publishes only these again")
	}
	if keep := c.keeping(); keep != nil {
		return keep.CheckReplaced(c.inputs())
	}
	return nil
}

// keeping returns what to keep of the published layers, or nil if only the named layers are to be
// published.
func (c *boundariesCmd) keeping() *boundaries.Keep {
	changes := len(c.Patch) > 0 || len(c.Remove) > 0
	if !c.Keep.all && c.Keep.only == nil && !changes {
		return nil
	}
	keep := &boundaries.Keep{}
	if !c.Keep.all && (c.Keep.only != nil || c.Keep.none) {
		keep.Only = append([]string{}, c.Keep.only...)
	}
	for _, r := range c.Remove {
		keep.Remove = append(keep.Remove, boundaries.Region(r))
	}
	return keep
}

// onlyPatches reports whether the command changes single regions and nothing else.
func (c *boundariesCmd) onlyPatches() bool {
	keep := c.keeping()
	return len(c.Layer) == 0 && keep != nil && keep.Only == nil
}

// keeps reports whether a published layer stays that is not named.
func (c *boundariesCmd) keeps(typ string) bool {
	keep := c.keeping()
	return keep != nil && (keep.Only == nil || slices.Contains(keep.Only, typ))
}

// keepFlag is a flag without a value, or with all, none, or the names of layers. The zero value is
// that of a flag that was not given.
type keepFlag struct {
	all, none bool
	only      []string
}

var _ kong.BoolMapperValue = (*keepFlag)(nil)

// IsBool tells the parser that the flag needs no value.
func (*keepFlag) IsBool() bool { return true }

// Decode reads the value, if there is one.
func (k *keepFlag) Decode(ctx *kong.DecodeContext) error {
	*k = keepFlag{}
	if ctx.Scan.Peek().Type != kong.FlagValueToken {
		k.all = true
		return nil
	}
	text := fmt.Sprint(ctx.Scan.Pop().Value)
	switch strings.ToLower(text) {
	case "all", "true", "yes", "1":
		k.all = true
	case "none", "false", "no", "0":
		k.none = true
	default:
		for typ := range strings.SplitSeq(text, ",") {
			if typ = strings.TrimSpace(typ); boundaries.CheckType(typ) != nil {
				return fmt.Errorf("%s: give all, none, or the published layers to keep, such as --keep=country,state", text)
			}
			k.only = append(k.only, typ)
		}
	}
	return nil
}

// MarshalText is the inverse of Decode.
func (k keepFlag) MarshalText() ([]byte, error) {
	switch {
	case k.all:
		return []byte("true"), nil
	case k.only != nil:
		return []byte(strings.Join(k.only, ",")), nil
	}
	return []byte("false"), nil
}

// regionFlag is TYPE:ID.
type regionFlag boundaries.Region

var _ encoding.TextUnmarshaler = (*regionFlag)(nil)

func (r *regionFlag) UnmarshalText(text []byte) (err error) {
	var ok bool
	if r.Type, r.ID, ok = strings.Cut(string(text), ":"); !ok || r.ID == "" || boundaries.CheckType(r.Type) != nil {
		return fmt.Errorf("%q is not a region; give one as TYPE:ID, such as ward:E05000026", text)
	}
	return nil
}

// MarshalText is the inverse of UnmarshalText.
func (r regionFlag) MarshalText() ([]byte, error) { return []byte(r.Type + ":" + r.ID), nil }
