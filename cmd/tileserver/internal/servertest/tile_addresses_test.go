package servertest_test

import (
	"encoding/json"
	"encoding/xml"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"

	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/cmd/tileserver/internal/tile"
	"quadrille/internal/testrace"
)

// Tiles at the addresses of WMTS and of ArcGIS are those below /tiles.
func TestOtherAddressesOfTiles(t *testing.T) {
	testrace.SkipUnderRace(t, "one request after the other, which TestEverythingAtOnce sends at once")
	w, _ := servertest.NewCollections(t)
	const wmts = "/wmts?SERVICE=WMTS&VERSION=1.0.0&REQUEST=GetTile&TILEMATRIXSET=WebMercatorQuad&TILEMATRIX=5&TILEROW=11&TILECOL=16&LAYER="
	for other, same := range map[string]string{
		wmts + "country": "/tiles/country/5/16/11.png",
		wmts + "country&STYLE=dark&FORMAT=image/png":                                                                     "/tiles/country/5/16/11.png?theme=dark",
		wmts + "country,places&FORMAT=application/vnd.mapbox-vector-tile&STYLE=":                                         "/tiles/country,places/5/16/11.mvt",
		"/wmts?request=gettile&tilematrixset=WebMercatorQuad&TileMatrix=5&tilerow=15&tilecol=17&layer=points:cars&MAP=x": "/tiles/points:cars/5/17/15.png",
		"/arcgis/rest/services/country/VectorTileServer/tile/5/11/16.pbf":                                                "/tiles/country/5/16/11.pbf",
		"/arcgis/rest/services/country,places/VectorTileServer/tile/5/11/16.pbf":                                         "/tiles/country,places/5/16/11.pbf?pixels=512",
		"/arcgis/rest/services/points:shops/VectorTileServer/tile/22/2085500/2330200.pbf":                                "/tiles/points:shops/22/2330200/2085500.pbf",
	} {
		got, want := w.Get(other), w.Get(same)
		g, b := servertest.Body(t, got), servertest.Body(t, want)
		if g != b || got.StatusCode != want.StatusCode || b == "" && !strings.Contains(same, "/22/") || got.Header.Get("Etag") != want.Header.Get("Etag") {
			t.Errorf("%s: %d, %d bytes; %s: %d, %d bytes", other, got.StatusCode, len(g), same, want.StatusCode, len(b))
		}
	}
	for path, want := range map[string]struct {
		status int
		typ    string
	}{
		"/wmts":                                                                    {400, "InvalidParameterValue"},
		"/wmts?REQUEST=GetFeatureInfo":                                             {400, "InvalidParameterValue"},
		"/wmts?REQUEST=GetTile":                                                    {400, "InvalidParameterValue"},
		"/wmts?SERVICE=WMS&REQUEST=GetTile":                                        {400, "InvalidParameterValue"},
		"/wmts?REQUEST=GetTile&request=x":                                          {400, "InvalidParameterValue"},
		wmts + "country&STYLE=red":                                                 {400, "InvalidParameterValue"},
		wmts + "country&FORMAT=image/jpeg":                                         {400, "InvalidParameterValue"},
		wmts + "planet":                                                            {404, "InvalidParameterValue"},
		wmts + "points:secret":                                                     {404, "InvalidParameterValue"},
		strings.Replace(wmts, "=5", "=a", 1):                                       {400, "InvalidParameterValue"},
		strings.Replace(wmts, "=5", "=23", 1) + "country":                          {404, "TileOutOfRange"},
		strings.Replace(wmts, "Mercator", "Moon", 1) + "country":                   {404, "InvalidParameterValue"},
		"/arcgis/rest/services/planet/VectorTileServer?f=json":                     {404, "unknown-layer"},
		"/arcgis/rest/services/points:secret/VectorTileServer":                     {404, "unknown-layer"},
		"/arcgis/rest/services/planet/VectorTileServer/resources/styles/root.json": {404, "unknown-layer"},
		"/arcgis/rest/services/country/VectorTileServer/tile/1/2/0.pbf":            {404, "tile-outside"},
		"/arcgis/rest/services/country/VectorTileServer/tile/1/0/0.png":            {404, "unknown-format"},
		"/arcgis/rest/services/country/VectorTileServer/tile/a/0/0.pbf":            {400, "bad-parameter"},
	} {
		t.Run(path, func(t *testing.T) {
			if !strings.HasPrefix(path, "/wmts") {
				servertest.WantProblem(t, w.Get(path), want.status, want.typ)
				return
			}
			var report struct {
				Exception struct {
					Code string `xml:"exceptionCode,attr"`
					Text string `xml:"ExceptionText"`
				}
			}
			res := w.Get(path)
			if err := xml.Unmarshal([]byte(servertest.Body(t, res)), &report); err != nil || res.StatusCode != want.status ||
				report.Exception.Code != want.typ || report.Exception.Text == "" {
				t.Errorf("%d %+v %v", res.StatusCode, report, err)
			}
		})
	}
}

// The capabilities of WMTS list the public layers, whose addresses lead to tiles.
func TestWMTSCapabilities(t *testing.T) {
	testrace.SkipUnderRace(t, "one request after the other, which TestEverythingAtOnce sends at once")
	w, _ := servertest.NewCollections(t)
	text := servertest.Body(t, w.Get("/wmts/1.0.0/WMTSCapabilities.xml?SERVICE=WMTS", "X-Forwarded-Proto", "https"))
	for _, path := range []string{"/wmts?request=GetCapabilities&service=wmts", "/wmts?_=1&REQUEST=getcapabilities"} {
		if other := servertest.Body(t, w.Get(path, "X-Forwarded-Proto", "https")); other != text {
			t.Errorf("%s: %s", path, other)
		}
	}
	var doc struct {
		Layers []struct {
			Title, Identifier string
			LowerCorner       string `xml:"WGS84BoundingBox>LowerCorner"`
			Styles            []struct {
				Identifier string
				Default    bool `xml:"isDefault,attr"`
			} `xml:"Style"`
			URLs []struct {
				Format   string `xml:"format,attr"`
				Template string `xml:"template,attr"`
			} `xml:"ResourceURL"`
		} `xml:"Contents>Layer"`
		Matrices []struct {
			Identifier       string
			ScaleDenominator float64
			MatrixWidth      int
		} `xml:"Contents>TileMatrixSet>TileMatrix"`
	}
	if err := xml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err, text)
	}
	var names []string
	for _, l := range doc.Layers {
		names = append(names, l.Identifier)
		if l.Title == "" || l.LowerCorner == "" || len(l.Styles) != 5 || !l.Styles[0].Default || l.Styles[1].Default {
			t.Errorf("%+v", l)
		}
		for _, u := range l.URLs {
			address := strings.NewReplacer("{TileMatrix}", "3", "{TileRow}", "2", "{TileCol}", "4", "{Style}", "light").Replace(u.Template)
			_, path, _ := strings.Cut(strings.TrimPrefix(address, "http://"), "/")
			if res := w.Get("/" + path); res.StatusCode >= 300 || res.StatusCode == http.StatusOK && res.Header.Get("Content-Type") != u.Format {
				t.Errorf("%s: %d %s, want %s", address, res.StatusCode, res.Header.Get("Content-Type"), u.Format)
			}
		}
	}
	want := []string{"country", "state", "places", "points:cars", "points:shops", "points:shops_label"}
	if got := slices.Sorted(slices.Values(names)); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		t.Errorf("layers %q, want %q", names, want)
	}
	if m := doc.Matrices; len(m) != 23 || math.Abs(m[0].ScaleDenominator-559082264.0287178) > 1e-6 || m[22].MatrixWidth != 1<<22 {
		t.Errorf("%+v", m)
	}
}

// A service for ArcGIS leads to tiles and to a style of one source.
func TestArcGISService(t *testing.T) {
	testrace.SkipUnderRace(t, "one request after the other, which TestEverythingAtOnce sends at once")
	w, _ := servertest.NewCollections(t)
	get := func(path string, into any) {
		t.Helper()
		res := w.Get(path)
		if err := json.Unmarshal([]byte(servertest.Body(t, res)), into); err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d %v", path, res.StatusCode, err)
		}
	}
	for layers, deepest := range map[string]int{"country,places": 13, "points:shops,country": 22} {
		service := "/arcgis/rest/services/" + layers + "/VectorTileServer"
		var doc struct {
			DefaultStyles string
			Tiles         []string
			MaxScale      float64
			FullExtent    struct{ XMin, YMin, XMax, YMax float64 }
			TileInfo      struct {
				LODs []struct{ Resolution, Scale float64 }
			}
		}
		get(service+"?f=pjson&token=x", &doc)
		lods := doc.TileInfo.LODs
		if e := doc.FullExtent; e.XMin >= e.XMax || e.YMin >= e.YMax || math.Abs(e.XMax) > 20037508.35 || math.Abs(e.YMax) > 20037508.35 {
			t.Errorf("%s: extent %+v", layers, e)
		}
		if len(lods) != deepest+1 || math.Abs(lods[0].Scale-295828763.7957775) > 1 || lods[1].Resolution*2 != lods[0].Resolution ||
			doc.MaxScale != lods[deepest].Scale || doc.Tiles[0] != "tile/{z}/{y}/{x}.pbf" {
			t.Errorf("%s: %+v", layers, doc)
		}
		var style tile.MapStyle
		get(service+"/"+doc.DefaultStyles+"/root.json", &style)
		if _, path, _ := strings.Cut(strings.TrimPrefix(style.Sources["esri"].URL, "http://"), "/"); len(style.Sources) != 1 || len(style.Layers) < 3 ||
			servertest.Body(t, w.Get("/"+path)) != servertest.Body(t, w.Get(service)) {
			t.Errorf("%s: %+v", layers, style.Sources)
		}
		for _, l := range style.Layers {
			if l.Type != "background" && l.Source != "esri" || l.Layout["text-field"] != nil {
				t.Errorf("%s: layer %+v", layers, l)
			}
		}
	}
}
