// Package problems describes failures of data sets. For clients it has a table of kinds of
// problems, and refusals. For the operator it has troubles.
package problems

import (
	"net/http"
	"strings"

	"quadrille/ask"
	"quadrille/cellstore"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/feature"
	"quadrille/places/live"
	"quadrille/tiles"
)

// Kinds are the ways in which reading data fails. A store that does not answer never means that an
// object does not exist, so this kind comes first. Other packages may describe damage more
// precisely, so damage comes last.
var Kinds = []web.ProblemKind{
	{Order: -1,
		Err:    cellstore.ErrShortage,
		Status: http.StatusServiceUnavailable,
		Type:   "too-busy",
		Title:  "The server has too many files open, or too little memory",
		Detail: "Wait for the time that Retry-After gives, then send the request again.", Retry: true},
	{Order: -1, Err: live.ErrDamaged, Status: http.StatusServiceUnavailable, Type: "data-damaged", Title: "A data set is damaged",
		Detail: "The collection cannot be read. Tell the operator: tileserver live verify finds the damage, and " +
			"tileserver live repair rescues what can be read.",
		Retry:      true,
		IsExpected: true},
	{Order: -1, Err: live.ErrUnreadable, Status: http.StatusServiceUnavailable, Type: "storage-failing", Title: "The disk of the server fails",
		Detail: "The collection cannot be read for the moment. Try again later; if it lasts, the operator will find the " +
			"reason in the server's log.",
		Retry:      true,
		IsExpected: true},
	{Order: -1,
		Err:        cellstore.ErrNoSpace,
		Status:     http.StatusInsufficientStorage,
		Type:       "insufficient-storage",
		Title:      "The server has no room to write",
		Detail:     "Nothing was written. Try again later: writes are taken by themselves once there is room on the disk.",
		Retry:      true,
		IsExpected: true},
	{Order: -1,
		Err:        live.ErrWritesRefused,
		Status:     http.StatusServiceUnavailable,
		Type:       "storage-failing",
		Title:      "The disk of the server refuses writes",
		Detail:     "Nothing was written. Try again later; if it lasts, the operator will find the reason in the server's log.",
		Retry:      true,
		IsExpected: true},
	{Order: -1,
		Err:    ask.ErrFailed,
		Status: http.StatusServiceUnavailable,
		Type:   "dataset-unavailable",
		Title:  "The data set cannot be read right now",
		Detail: "Try again in a moment; if it lasts, the operator will find the reason in the server's log.", Retry: true},
	{Order: -1,
		Err:        cellstore.ErrLayout,
		Status:     http.StatusServiceUnavailable,
		Type:       "dataset-unavailable",
		Title:      "The data set cannot be read right now",
		Detail:     "Another version of the program wrote it. Tell the operator, who finds in the server's log what to do.",
		Retry:      true,
		IsExpected: true},
	{Order: -1,
		Err:    cellstore.ErrUnavailable,
		Status: http.StatusServiceUnavailable,
		Type:   "dataset-unavailable",
		Title:  "The data set cannot be read right now",
		Detail: "Try again in a moment; the store that the server reads from does not answer.", Retry: true},
	{Order: -1,
		Err:    cellstore.ErrUnknownOutcome,
		Status: http.StatusServiceUnavailable,
		Type:   "dataset-unavailable",
		Title:  "The data set cannot be read right now",
		Detail: "Try again in a moment; the store that the server reads from does not answer.", Retry: true},
	{Order: -1,
		Err:    ask.ErrMissing,
		Status: http.StatusNotFound,
		Type:   "dataset-missing",
		Title:  "The data set is not published on this server",
		Detail: "Ask the operator to build it with the ingest command; /status lists what is published."},
	{Order: -1, Err: dataset.ErrPruned, Status: http.StatusGone, Type: "generation-gone", Title: "The generation has been removed",
		Detail: "The data has been published anew. Read the TileJSON again and use the addresses it gives, or leave out the " +
			"/g/ part for the newest data."},
	{Order: -1, Err: dataset.ErrNoGeneration, Status: http.StatusNotFound, Type: "generation-unknown", Title: "There is no such generation",
		Detail: "Use an address that a TileJSON with pinned=true gives, or leave out the /g/ part for the newest data."},
	{Order: -1,
		Err:    dataset.ErrOlderBusy,
		Status: http.StatusServiceUnavailable,
		Type:   "too-busy",
		Title:  "Other older generations are in use",
		Detail: "Wait for the time that Retry-After gives, or leave out the /g/ part for the newest data.", Retry: true, IsExpected: true},

	{Order: 1,
		Err:    cellstore.ErrClosed,
		Status: http.StatusServiceUnavailable,
		Type:   "dataset-unavailable",
		Title:  "The data set cannot be read right now",
		Detail: "Try again in a moment.", Retry: true},
	{Order: 1, Err: feature.ErrNotFound, Status: http.StatusNotFound, Type: "not-found", Title: "There is nothing at this address",
		Detail: "Use the id of a feature as a list of its layer gives it."},
	{Order: 1, Err: cellstore.ErrCorrupt, Status: http.StatusInternalServerError, Type: "data-corrupt", Title: "Stored data is damaged",
		Detail: "Tell the operator: ingest verify finds the damage, and ingest rollback serves the generation before it; " +
			"for a live collection, tileserver live verify and tileserver live repair."},
}

// CheckTypes returns an error if a parameter has types of areas that are not published.
func CheckTypes(g *ask.Ground, parameter string, types ...string) error {
	for _, t := range types {
		if !g.Has(t) {
			return UnknownType(g, parameter)
		}
	}
	return nil
}

// UnknownType returns the error for an unknown type of areas. It lists the existing types.
func UnknownType(g *ask.Ground, parameter string) error {
	return endpoint.Refuse(tiles.ErrUnknownType, parameter, "Use one of the published region types: "+strings.Join(g.Types(), ", ")+".")
}
