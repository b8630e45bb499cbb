package points

import (
	"bufio"
	"fmt"
	"hash/maphash"
	"io"
	"os"
	"slices"

	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/liveclient"
)

// lackingPoints is a file of the points of a live collection that the input files lack: for each the
// line that deletes it.
type lackingPoints struct {
	file  *os.File
	count int64
}

// idSeed is the seed of the hashes of ids. Two ids with one hash keep a point that should go, but
// never remove one that should stay.
var idSeed = maphash.MakeSeed()

// findLacking lists the collection before anything is written. It refuses files of which something
// was left out, since what they seem to lack may be what was left out. most is the greatest share of
// the collection, 0 to 1, that may be lacking; nil allows all.
func (j *pointsJob) findLacking(client *liveclient.Client, s *spooled, most *float64) (*lackingPoints, error) {
	if n := j.tally.LeftOutCount(); n > 0 {
		return nil, fmt.Errorf("%d of %d records are left out, such as %v, and --replace would remove their points: correct them, or leave out "+
			"--replace; nothing was written", n, n+j.tally.TakenCount(), j.tally.Example())
	}
	file, err := os.CreateTemp(j.dir, "lacking-*")
	if err != nil {
		return nil, err
	}
	lacking, all := &lackingPoints{file: file}, int64(0)
	out := bufio.NewWriterSize(file, 1<<20)
	err = client.Points(j.ctx, func(id string, version int64) error {
		all++
		j.rep.Progress(job.Progress{Stage: "listing points", Done: all, Unit: "points"})
		if _, has := slices.BinarySearch(s.ids, maphash.String(idSeed, id)); has {
			return nil
		}
		lacking.count++
		_, err := out.Write(append(liveclient.Deletion(id, version), '\n'))
		return err
	})
	if err == nil {
		err = out.Flush()
	}
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if share := float64(lacking.count) / float64(max(1, all)); err == nil && most != nil && share > *most {
		err = job.TooMuchChange(fmt.Sprintf("of %d points of the live collection %s the files lack %d, which is %s", all, j.of.Name,
			lacking.count, job.Percent(share)), *most)
	}
	if err != nil {
		_ = file.Close() // its directory is removed with it
		return nil, err
	}
	return lacking, nil
}

// remove deletes points that the files lack. changed counts those that stay, because they were
// written after they had been listed.
func (j *pointsJob) remove(client *liveclient.Client, lacking *lackingPoints) (removed, changed int64, err error) {
	in := bufio.NewReaderSize(lacking.file, 1<<20)
	err = j.writeLines(client, "removing points", lacking.count, func() (liveclient.Line, error) {
		text, err := in.ReadBytes('\n')
		return liveclient.Line{Text: text[:max(0, len(text)-1)]}, err
	}, func(_ *liveclient.Line, refusal string) error {
		if refusal == "" {
			removed++
		} else {
			changed++
		}
		return nil
	})
	return removed, changed, err
}
