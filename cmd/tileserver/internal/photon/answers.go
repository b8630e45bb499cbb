package photon

// These types of answers are for the description of the interface.

// PhotonFeatures is the answer of a search.
type PhotonFeatures struct {
	_ struct{} `doc:"Places, regions and airports in Photon's terms: https://github.com/komoot/photon/blob/master/docs/api-v1.md. No osm_id is an id of OpenStreetMap."`
}

// PhotonError is a problem in Photon's form.
type PhotonError struct {
	_       struct{} `doc:"Photon's error."`
	Message string   `json:"message"`
}
