package listing

import "quadrille/internal/jsontext"

// These texts enclose the features of a FeatureCollection.
const (
	CollectionHead = `{` + features
	CollectionTail = `]}`

	features = `"type":"FeatureCollection","features":[`
)

// End ends a list and its object, with the cursor of the next page if there is one.
func End(dst []byte, next string) []byte {
	return append(jsontext.AppendText(append(dst, ']'), "next", next), '}')
}
