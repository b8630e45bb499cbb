package listing

// These texts enclose the features of a FeatureCollection.
const (
	CollectionHead = `{` + features
	CollectionTail = `]}`

	features = `"type":"FeatureCollection","features":[`
)

// Page writes a list as a member of an object. Body is the answer so far.
type Page struct {
	Body []byte
	some bool // items have been written
}

// Begin begins the list in an object whose opening brace has been written.
func Begin(dst []byte, name string) Page {
	return Page{Body: append(append(append(dst, '"'), name...), `":[`...)}
}

// Next appends the comma before the next item; the caller then appends the item to Body.
func (p *Page) Next() {
	if p.some {
		p.Body = append(p.Body, ',')
	}
	p.some = true
}

// End ends the list and its object, with the cursor of the next page if there is one.
func (p *Page) End(next string) []byte { return endObject(p.Body, nil, next) }
