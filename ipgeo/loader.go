package ipgeo

import "quadrille/cellstore"

// loadRow is a row on its way to the store.
type loadRow struct {
	v4          bool
	first, last u128
	answer      string
}

const (
	loadBatch      = 1 << 10 // rows at most
	loadBatchBytes = 1 << 20 // of answers, exceeded by at most one answer
	loadBatches    = 4       // on the way at once
)

// loader loads rows into the store in its own goroutine. It takes no more rows
// after an error. Call finish or stop at the end.
type loader struct {
	load      cellstore.BulkLoader
	timestamp int64

	batch  []loadRow
	size   int // bytes of the answers in batch
	full   chan []loadRow
	empty  chan []loadRow // for reuse
	failed chan struct{}  // closed when err is set and no more batches are taken
	done   chan struct{}
	err    error
}

func startLoader(load cellstore.BulkLoader, timestamp int64) *loader {
	l := &loader{
		load: load, timestamp: timestamp,
		full: make(chan []loadRow, loadBatches), empty: make(chan []loadRow, loadBatches+2),
		failed: make(chan struct{}), done: make(chan struct{}),
	}
	go l.run()
	return l
}

func (l *loader) run() {
	defer close(l.done)
	rows := newRowBuilder(func(key, value []byte) error {
		return l.load.Add(key, cellstore.Cell{Family: familyName, Timestamp: l.timestamp, Value: value})
	})
	for batch := range l.full {
		for i := range batch {
			r := &batch[i]
			if l.err = rows.put(r.v4, r.first, r.last, r.answer); l.err != nil {
				close(l.failed)
				return
			}
		}
		clear(batch) // release the answers
		l.empty <- batch[:0]
	}
	l.err = rows.flush()
}

// add queues a row. Rows come in key order.
func (l *loader) add(r loadRow) error {
	if l.batch == nil {
		select {
		case l.batch = <-l.empty:
		default:
			l.batch = make([]loadRow, 0, loadBatch)
		}
	}
	l.batch = append(l.batch, r)
	l.size += len(r.answer)
	if len(l.batch) < loadBatch && l.size < loadBatchBytes {
		return nil
	}
	return l.send()
}

func (l *loader) send() error {
	batch := l.batch
	l.batch, l.size = nil, 0
	select {
	case l.full <- batch:
		return nil
	case <-l.failed:
		return l.err
	}
}

// finish loads the remaining rows and returns the error of any row.
func (l *loader) finish() error {
	var err error
	if len(l.batch) > 0 {
		err = l.send()
	}
	if stopped := l.stop(); err == nil {
		err = stopped
	}
	return err
}

// stop ends the goroutine after it has loaded the rows sent to it. Further
// calls return the same error.
func (l *loader) stop() error {
	select {
	case <-l.done:
	default:
		close(l.full)
		<-l.done
	}
	return l.err
}
