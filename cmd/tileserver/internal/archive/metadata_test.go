package archive

import "testing"

func TestPlace(t *testing.T) {
	world := [4]float64{-180, -85.05112877980659, 180, 85.05112877980659}
	for _, c := range []struct {
		bounds, center []float64
		want           [4]float64
		zoom           float64
	}{
		{nil, nil, world, 2},
		{[]float64{0, 0, 0, 0}, []float64{0, 0, 0}, world, 0},
		{[]float64{170, -10, -170, 10}, nil, world, 2},
		{[]float64{-200, -90, 200, 90}, []float64{1, 2, 99}, world, 2},
		{[]float64{1, 2, 3, 4}, []float64{2, 3, 5}, [4]float64{1, 2, 3, 4}, 5},
		{[]float64{1, 2, 3, 4}, []float64{9, 9, 5}, [4]float64{1, 2, 3, 4}, 2},
		{[]float64{190, 2, 195, 4}, nil, world, 2},
	} {
		i := Info{MinZoom: 2, MaxZoom: 7}
		i.place(c.bounds, c.center)
		if i.Bounds != c.want || i.Center[2] != c.zoom {
			t.Errorf("%v, %v: %v, zoom %v", c.bounds, c.center, i.Bounds, i.Center[2])
		}
	}
	for _, s := range []string{"", "1,2,3", "1,2,3,4,5", "1,2,3,NaN", "1,2,3,Inf", "1,2,3,x"} {
		if n := numbers(s, 4); n != nil {
			t.Errorf("%q: %v", s, n)
		}
	}
}
