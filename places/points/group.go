package points

import (
	"math"
	"sync"

	"quadrille/quadkey"
)

// Distances are in pixels. A tile is 512 pixels wide.
const (
	tilePixels = 512
	// apart is the least distance between cells that head clusters, and the side of squares.
	apart = 40
	// shift bounds the distance of a shown cluster from its head, towards the mean of its points.
	shift = 4
	// margin is the distance beyond a tile within which cells count. Cells of a cluster are at most
	// apart from its head. The choice of heads depends on squares of up to three earlier colours,
	// and those squares depend on the cells around them.
	margin = 6*apart + shift
	// cellZooms is the difference of zoom between a tile and its cells, which are 16 pixels wide.
	cellZooms = 5
	// side is the number of squares along one side of the area that is read for a tile, plus one at
	// each end.
	side = (tilePixels+2*margin)/apart + 4
)

// grouping makes the clusters of a tile, consistently with all other tiles. A cell with more points
// than all cells around it becomes the head of a cluster. Then other cells become heads if they are
// far enough from all heads. The order in which they do so could depend on cells at any distance.
// So the map is divided into squares of four colours. Squares of the same colour do not touch, and
// all squares of one colour come before those of the next.
type grouping struct {
	tile   quadkey.Tile
	x, y   float64 // of the corner of the tile on the map
	col    int     // of the first square
	row    int
	leaves []quadkey.Tile // still to be divided
	cells  []cell
	square [side * side]int32 // their first cells, and 0 for none
	asked  [side * side]bool  // squares visited by the last search for heads
	heads  []cluster
	text   []byte
	only   *selection // the points that pass a filter; nil for all
	mark   string     // of the filter; "" for none
}

// cell is a small tile whose points are always shown together.
type cell struct {
	first, last quadkey.PointKey
	sums
	all   sums // of the cluster if it is a head
	x, y  float64
	next  int32 // in the square, with fewer points; 0 for none
	head  int32 // 0 where it is not known yet
	class uint8 // the order of heads; 0 where it is not known yet
}

// sums has the sums of the positions of points, in units.
type sums struct{ count, lat, lon int64 }

func (s *sums) add(o sums) { s.count, s.lat, s.lon = s.count+o.count, s.lat+o.lat, s.lon+o.lon }

func (s *sums) mean() (lat, lon int64) { return s.lat / s.count, s.lon / s.count }

// cluster is a shown item: a head with the surrounding cells that belong to it.
type cluster struct {
	first, last quadkey.PointKey // of the head
	all         int64            // points
	at          quadkey.Position
	square      quadkey.PointKey // the square in its id
	idBytes     int
}

var groupings = sync.Pool{New: func() any { return new(grouping) }}

func (g *grouping) begin(t quadkey.Tile) {
	g.tile, g.x, g.y = t, float64(t.X)*tilePixels, float64(t.Y)*tilePixels
	g.col, g.row = int(math.Floor((g.x-margin)/apart))-1, int(math.Floor((g.y-margin)/apart))-1
	g.leaves, g.cells, g.mark = g.leaves[:0], append(g.cells[:0], cell{}), ""
	clear(g.square[:])
	clear(g.asked[:])
}

// gather adds the cells of the tree in the tile and its margin, and the leaves to divide.
func (g *grouping) gather(t *tree) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	g.descend(t, 0, quadkey.Tile{})
}

func (g *grouping) descend(t *tree, at uint32, tile quadkey.Tile) {
	n := &t.nodes[at]
	if n.count == 0 || !g.near(tile, margin) {
		return
	}
	deepest := tile.Z >= g.tile.Z+cellZooms || tile.Z == quadkey.MaxZoom && n.count > leafPoints
	switch {
	case n.child != 0 && !deepest:
		for i, child := range tile.Children() {
			g.descend(t, n.child+uint32(i), child)
		}
	case deepest, n.count == 1, tile.Z+1 >= g.tile.Z+cellZooms:
		first, last := tile.PointKeys()
		g.add(cell{first: first, last: last, sums: sums{int64(n.count), n.lat, n.lon}})
	default:
		g.leaves = append(g.leaves, tile)
	}
}

// cover appends tiles that together hold the cells of the shown tile and its margin, in the order of their
// keys. A tile among them may be a little further away.
func (g *grouping) cover(dst []quadkey.Tile, t quadkey.Tile) []quadkey.Tile {
	const finer = 2 // than the shown tile
	if !g.near(t, margin) {
		return dst
	}
	if t.Z >= min(g.tile.Z+finer, quadkey.MaxZoom) {
		return append(dst, t)
	}
	for _, child := range t.Children() {
		dst = g.cover(dst, child)
	}
	return dst
}

// box returns the corner and the width of a tile on the map.
func (g *grouping) box(t quadkey.Tile) (x, y, wide float64) {
	wide = math.Ldexp(tilePixels, int(g.tile.Z)-int(t.Z))
	return float64(t.X) * wide, float64(t.Y) * wide, wide
}

// near reports whether a tile lies in the shown tile, or is less than a distance away from it.
func (g *grouping) near(t quadkey.Tile, away float64) bool {
	x, y, wide := g.box(t)
	far := tilePixels + away
	return x < g.x+far && x+wide > g.x-away && y < g.y+far && y+wide > g.y-away
}

// cellAt returns the empty cell that a key is in.
func (g *grouping) cellAt(key quadkey.PointKey) cell {
	rest := quadkey.PointKey(1)<<(2*(32-(g.tile.Z+cellZooms))) - 1
	return cell{first: key &^ rest, last: key | rest}
}

// add adds a cell to its square, after the cells with more points.
func (g *grouping) add(k cell) {
	if k.count == 0 {
		return
	}
	if lat, lon := k.mean(); lon == 180*unitsPerDegree || k.first.Tile(quadkey.MaxZoom).X == 0 && !k.holds(lat, lon) {
		k.lon = -180 * unitsPerDegree * k.count // 180° is in the first column too
	}
	k.x, k.y = g.pixel(k.mean())
	if !g.within(&k, margin) {
		return
	}
	link := &g.square[g.squareOf(&k)]
	for *link != 0 && g.cells[*link].more(&k) {
		link = &g.cells[*link].next
	}
	k.next, *link = *link, int32(len(g.cells))
	g.cells = append(g.cells, k)
}

// holds reports whether a position is in the tile of a cell.
func (k *cell) holds(lat, lon int64) bool {
	key := positionOf(int32(lat), int32(lon)).key
	return k.first <= key && key <= k.last
}

// pixel returns the pixel of a position on the map of the zoom.
func (g *grouping) pixel(lat, lon int64) (x, y float64) {
	x, y = quadkey.Project(toDegrees(int32(lon)), toDegrees(int32(lat)))
	return math.Ldexp(x*tilePixels, int(g.tile.Z)), math.Ldexp(y*tilePixels, int(g.tile.Z))
}

// place returns the column and the row on the map of the square of a cell.
func (k *cell) place() (col, row int) {
	return int(math.Floor(k.x / apart)), int(math.Floor(k.y / apart))
}

func (g *grouping) squareOf(k *cell) int {
	col, row := k.place()
	return (row-g.row)*side + col - g.col
}

// more reports whether a cell has more points than another. A tie goes to the smaller key.
func (k *cell) more(o *cell) bool {
	return k.count > o.count || k.count == o.count && k.first < o.first
}

// around calls fn with k and with each cell nearer to k than apart, until fn returns false.
func (g *grouping) around(k *cell, fn func(at int32, o *cell) bool) {
	middle := g.squareOf(k)
	for _, by := range [...]int{0, -1, 1, -side, side, -side - 1, 1 - side, side - 1, side + 1} {
		g.asked[middle+by] = true
		for at := g.square[middle+by]; at != 0; at = g.cells[at].next {
			o := &g.cells[at]
			if dx, dy := o.x-k.x, o.y-k.y; dx*dx+dy*dy < apart*apart && !fn(at, o) {
				return
			}
		}
	}
}

// classOf returns the round in which a cell can become a head.
func (g *grouping) classOf(k *cell) uint8 {
	if k.class != 0 {
		return k.class
	}
	k.class = 1
	g.around(k, func(_ int32, o *cell) bool {
		if o.more(k) {
			col, row := k.place()
			k.class = 2 + uint8(col&1+2*(row&1))
		}
		return k.class == 1
	})
	return k.class
}

// before reports whether cell k becomes a head before cell o.
func (g *grouping) before(k, o *cell) bool {
	a, b := g.classOf(k), g.classOf(o)
	return a < b || a == b && k.more(o)
}

// headOf returns the first head around a cell, which may be itself.
func (g *grouping) headOf(at int32) int32 {
	k := &g.cells[at]
	if k.head == 0 {
		head := at
		g.around(k, func(other int32, o *cell) bool {
			if g.before(o, &g.cells[head]) && g.headOf(other) == other {
				head = other
			}
			return true
		})
		k.head = head
	}
	return k.head
}

// takeLeaves removes and returns the leaves in squares that the search for heads visited, or all
// leaves in a box around the tile that is nearly always needed.
func (g *grouping) takeLeaves() (taken []quadkey.Tile) {
	left := g.leaves[:0]
	for _, t := range g.leaves {
		if g.wants(t) {
			taken = append(taken, t)
		} else {
			left = append(left, t)
		}
	}
	g.leaves = left
	return taken
}

func (g *grouping) wants(t quadkey.Tile) bool {
	if g.near(t, 2*apart+shift) {
		return true
	}
	x, y, wide := g.box(t)
	index := func(at float64, from int) int { return min(max(int(math.Floor(at/apart))-from, 0), side-1) }
	for row := index(y, g.row); row <= index(y+wide, g.row); row++ {
		for col := index(x, g.col); col <= index(x+wide, g.col); col++ {
			if g.asked[row*side+col] {
				return true
			}
		}
	}
	return false
}

// shown returns the items of the tile, with the leaves divided so far.
func (g *grouping) shown() []cluster {
	for at := range g.cells {
		k := &g.cells[at]
		k.head, k.class, k.all = 0, 0, sums{}
	}
	for at := int32(1); at < int32(len(g.cells)); at++ {
		if k := &g.cells[at]; g.within(k, apart+shift) {
			g.cells[g.headOf(at)].all.add(k.sums)
		}
	}
	g.heads = g.heads[:0]
	for at := range g.cells {
		if k := &g.cells[at]; k.all.count > 0 && g.within(k, shift) {
			if pos := g.middle(k); g.holds(pos) {
				g.heads = append(g.heads, cluster{k.first, k.last, k.all.count, pos, g.squareOfHead(k), 0})
			}
		}
	}
	return g.heads
}

// within reports whether a cell is in the tile, or less than a distance away from it.
func (g *grouping) within(k *cell, away float64) bool {
	far := tilePixels + away
	return k.x > g.x-away && k.y > g.y-away && k.x < g.x+far && k.y < g.y+far
}

// holds reports whether a position belongs to the tile.
func (g *grouping) holds(pos quadkey.Position) bool {
	t, err := quadkey.TileAt(pos.Lon, pos.Lat, g.tile.Z)
	return err == nil && t == g.tile
}

// middle returns the position of a shown cluster.
func (g *grouping) middle(head *cell) quadkey.Position {
	lat, lon := head.mean()
	if head.all.count > head.count {
		toLat, toLon := head.all.mean()
		x, y := g.pixel(toLat, toLon)
		part := min(1, shift/max(math.Hypot(x-head.x, y-head.y), 1e-9))
		lat, lon = lat+int64(part*float64(toLat-lat)), lon+int64(part*float64(toLon-lon))
	}
	at := position{lat: int32(lat), lon: int32(lon)}
	return at.degrees()
}
