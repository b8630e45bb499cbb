package collection

import "quadrille/cmd/tileserver/internal/webhook"

// Types of answers. If an answer is written as bytes, its type is only for the OpenAPI description.

// CollectionName answers a write of a collection itself.
type CollectionName struct {
	_      struct{}         `doc:"The name of a collection that is there now."`
	Name   string           `json:"name"`
	Others map[string]int64 `json:"other_types,omitempty" doc:"How many values of a property have not the type that is declared for it now." schema:"min=1"`
}

// HookList is the answer of /points/{collection}/hooks.
type HookList struct {
	_     struct{}        `name:"Hooks" doc:"The webhooks of a collection, by name."`
	Hooks []webhook.State `json:"hooks"`
}

// WrittenPoint answers a write of one point.
type WrittenPoint struct {
	_       struct{} "doc:\"A point that has been written. `version` is in the `ETag`, too.\""
	ID      string   `json:"id"`
	Version int      `json:"version"`
	Ignored string   `json:"ignored,omitempty" doc:"A member of the Feature that gives a time: it is not read, since the time of a write is the server's."`
}

// WrittenLine answers a line of POST /points/{collection}.
type WrittenLine struct {
	_       struct{} `doc:"What has become of a line: a version, or the type and detail of a problem." schema:"is"`
	Written written
	Refused refused
}

type written struct {
	Line    int    `json:"line" schema:"min=1"`
	ID      string `json:"id"`
	Status  int    `json:"status" schema:"enum=200|201|204"`
	Version int    `json:"version"`
	Ignored string `json:"ignored,omitempty" doc:"A member that gives a time, which is not read."`
}

type refused struct {
	Line   int    `json:"line" schema:"min=1"`
	ID     string `json:"id,omitempty"`
	Status int    `json:"status" schema:"min=400"`
	Type   string `json:"type"`
	Detail string `json:"detail"`
}
