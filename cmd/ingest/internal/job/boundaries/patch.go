package boundaries

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/source/columns"
	"quadrille/feature"
	"quadrille/tiles"
	"quadrille/tiles/build"
)

// Keep says what KeepSome takes over from the published generation of a data set.
type Keep struct {
	// Only are the layers to keep; nil means all. Layers that are patched, or of which regions are
	// removed, are kept in any case.
	Only []string
	// Remove are regions that are left out. They must be published.
	Remove []Region
}

// Region names a region of a layer.
type Region struct{ Type, ID string }

// keeps reports whether a published layer is kept that no input replaces.
func (k *Keep) keeps(typ string, inputs []Input) bool {
	return k.Only == nil || slices.Contains(k.Only, typ) || len(k.removed(typ)) > 0 ||
		slices.ContainsFunc(inputs, func(in Input) bool { return in.Patch && in.Type == typ })
}

func (k *Keep) removed(typ string) (ids []string) {
	for _, r := range k.Remove {
		if r.Type == typ {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// check returns an error if a layer is named that is not published, and that of [Keep.CheckReplaced].
func (k *Keep) check(d ask.Dataset, published []tiles.TypeMeta, inputs []Input) error {
	needed := slices.Clone(k.Only)
	for _, r := range k.Remove {
		needed = append(needed, r.Type)
	}
	for _, in := range inputs {
		if in.Patch {
			needed = append(needed, in.Type)
		}
	}
	for _, typ := range needed {
		if !slices.ContainsFunc(published, func(t tiles.TypeMeta) bool { return t.Name == typ }) {
			names := make([]string, len(published))
			for i, t := range published {
				names[i] = t.Name
			}
			return fmt.Errorf("no layer %s is published in %s, which has %s; publish it from a whole file by --layer %[1]s=FILE",
				typ, d.Name, cmp.Or(strings.Join(names, ", "), "none"))
		}
	}
	return k.CheckReplaced(inputs)
}

// CheckReplaced returns an error if a layer of which a file replaces all is patched too. Only the types of the inputs matter.
func (k *Keep) CheckReplaced(inputs []Input) error {
	for _, whole := range inputs {
		patched := func(in Input) bool { return in.Patch && in.Type == whole.Type }
		if !whole.Patch && (len(k.removed(whole.Type)) > 0 || slices.ContainsFunc(inputs, patched)) {
			return fmt.Errorf("the layer %s is replaced by a whole file: leave out --layer %[1]s=…, or its --patch and --remove", whole.Type)
		}
	}
	return nil
}

// layerColumns are the columns from which the regions of a layer have their ids and names. A
// patch takes them from the same ones: what a whole file shows, a few regions may not.
type layerColumns struct {
	IDs       string            `json:"ids,omitempty"` // idsOfColumns and so on; empty: not known, or several
	ID        columns.Names     `json:"id_columns,omitempty"`
	Name      columns.Names     `json:"name_columns,omitempty"`
	Languages map[string]string `json:"languages,omitempty"`
}

// These are the values of layerColumns.IDs.
const (
	idsOfColumns = "columns"
	idsOfOwn     = "features"
	idsOfNames   = "names"
)

// ownIDs and namesAsIDs describe sources of ids, in words.
const (
	ownIDs     = "features' own ids"
	namesAsIDs = "names"
)

// learnIDs completes the columns of the layer. from are the sources of its ids, in words.
func (l *layer) learnIDs(from []string) {
	switch c := l.columns; {
	case c == nil:
	case l.named:
		c.IDs = idsOfColumns
	case len(from) != 1 || !presetFor(l.typ).isCustom:
	case from[0] == ownIDs:
		c.IDs = idsOfOwn
	case from[0] == namesAsIDs:
		c.IDs = idsOfNames
	case c.ID != nil:
		c.IDs = idsOfColumns
	}
}

// sameIDs reports whether two files are known to have their ids from the same columns.
func (c *layerColumns) sameIDs(other *layerColumns) bool {
	return c != nil && other != nil && c.IDs != "" && c.IDs == other.IDs
}

// follow takes the columns that the user did not name from the published layer.
func (file *layerFile) follow(c *layerColumns) {
	if !file.toldName {
		file.choice.Name, file.choice.Languages, file.toldName = c.Name, c.Languages, c.Name != nil
	}
	if file.toldID {
		return
	}
	switch c.IDs {
	case idsOfColumns:
		file.choice.ID, file.toldID = c.ID, true
	case idsOfOwn, idsOfNames:
		file.preset.own, file.ownIDs = false, c.IDs == idsOfOwn
	}
}

// applyPatch replaces, adds and removes regions of a kept layer. Ids are compared as everywhere,
// without regard to case.
func (l *layer) applyPatch(rep job.Reporter) error {
	if l.patch == nil && len(l.remove) == 0 {
		return nil
	}
	published := make(map[string]string, len(l.features)) // the ids as they are spelled
	for i := range l.features {
		published[feature.FoldedRegionID(l.features[i].ID)] = l.features[i].ID
	}
	gone := map[string]bool{}
	for _, id := range l.remove {
		key := feature.FoldedRegionID(id)
		if published[key] == "" {
			return fmt.Errorf("--remove %s:%s: no such region is published; nothing was changed", l.typ, id)
		}
		gone[key] = true
	}
	removed := len(gone)
	var patch build.Layer
	var added, respelled []string
	l.patched = map[string]bool{}
	if l.patch != nil {
		patch = l.patch.finishTelling(rep)
	}
	for i := range patch.Features {
		id := patch.Features[i].ID
		key := feature.FoldedRegionID(id)
		switch {
		case l.patched[key]:
			continue
		case gone[key]:
			return fmt.Errorf("the region %s %s is in the file of --patch, and named by --remove: leave out one of them", l.typ, id)
		case published[key] == "":
			added = append(added, id)
		case published[key] != id:
			respelled = append(respelled, fmt.Sprintf("%s for %s", id, published[key]))
		}
		l.patched[key] = true
	}
	replaced := len(l.patched) - len(added)
	if len(added) > 0 && replaced == 0 && !l.patch.named && !l.columns.sameIDs(l.patch.columns) {
		return fmt.Errorf("the layer %s has none of the ids of the patch, such as %s: name the column that has its ids by --patch %[1]s=FILE:ID",
			l.typ, added[0])
	}
	if len(respelled) > 0 {
		if replaced < len(published) {
			_, was, _ := strings.Cut(respelled[0], " for ")
			return fmt.Errorf("the patch of the layer %s spells published ids otherwise, %d in all, such as %s, and styles and hooks that compare "+
				"ids would miss these: spell them as they are published, or remove these regions before, as by "+
				"ingest boundaries --remove %[1]s:%[4]s", l.typ, len(respelled), respelled[0], was)
		}
		rep.Note(fmt.Sprintf("%s: all regions are replaced, and ids are spelled otherwise than before: %d, such as %s", l.typ, len(respelled), respelled[0]))
	}
	l.features = slices.DeleteFunc(l.features, func(f build.Feature) bool {
		key := feature.FoldedRegionID(f.ID)
		return gone[key] || l.patched[key]
	})
	if l.features = append(l.features, patch.Features...); len(l.features) == 0 {
		return fmt.Errorf("nothing would be left of the layer %s: leave out the whole layer by --keep=LAYERS, which lists those to keep", l.typ)
	}
	more := ""
	if len(added) > 0 {
		more = " (such as " + strings.Join(added[:min(3, len(added))], ", ") + ")"
	}
	rep.Note(fmt.Sprintf("%s: regions replaced: %d, added: %d%s, removed: %d, left as they are: %d", l.typ, replaced, len(added), more,
		removed, len(published)-replaced-removed))
	if l.patch != nil {
		l.patchSources(l.patch.sources)
	}
	return nil
}

// patchSources adds the sources of a patch. They take the place of earlier patches with the same
// credit, so that a layer that is patched every night does not list every night.
func (l *layer) patchSources(sources []dataset.Source) {
	whole := len(l.sources) - l.patches
	replaced := func(s dataset.Source) bool {
		return slices.ContainsFunc(sources, func(by dataset.Source) bool {
			return by.Name == s.Name || by.License == s.License && by.Attribution == s.Attribution
		})
	}
	earlier := slices.DeleteFunc(slices.Clone(l.sources[whole:]), replaced)
	l.sources = slices.Concat(l.sources[:whole], earlier, sources)
	l.patches = len(earlier) + len(sources)
}
