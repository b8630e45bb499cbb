package photon

// Types of answers, for the description of the interface.

type PhotonFeatures struct {
	_ struct{} `doc:"Places, regions and airports in Photon's terms: https://github.com/komoot/photon/blob/master/docs/api-v1.md. No osm_id is an id of OpenStreetMap."`
}

type PhotonError struct {
	_       struct{} `doc:"Photon's error."`
	Message string   `json:"message"`
}
