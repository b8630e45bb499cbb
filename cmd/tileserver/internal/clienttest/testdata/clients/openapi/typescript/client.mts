// A client whose types openapi-typescript made asks the server whose address is given.
import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

declare const process: { argv: string[] };

const api = createClient<paths>({ baseUrl: process.argv[2] });

function check(ok: boolean, ...what: unknown[]): asserts ok {
  if (!ok) throw new Error(JSON.stringify(what));
}

const nearby = await api.GET("/places/nearby", { params: { query: { lat: 47.5, lon: 6.5, limit: 3 } } });
const list = nearby.data as components["schemas"]["PlaceList"]; // one of its forms: CSV is a text
check(list.places.length === 3, nearby);

const at = await api.GET("/at", { params: { query: { lat: 47.5, lon: 6.5 } } });
const region = at.data?.regions?.[0];
check(region !== undefined, at);

const ip = await api.GET("/ip/{addr}", { params: { path: { addr: "11.0.0.5" } } });
check(ip.data?.country?.iso_code === "DE", ip);

const wrong = await api.GET("/at", { params: { query: { lat: 91, lon: 6.5 } } });
check(wrong.error?.type === "bad-parameter" && wrong.error.parameter === "lat", wrong);

console.log(list.places[0].name, region.name, ip.data.country.iso_code);
