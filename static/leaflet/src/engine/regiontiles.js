// Tiles of regions: loaded by the page, kept by the workshop.
import { vectorTile } from '../server/api.js'
import { TileCache } from './tilecache.js'
import { turn } from './turns.js'

const MOST = 256

/** A cache of the tiles that the workshop of a studio has; a tile's value is its key. */
export function regionTiles(studio) {
  const load = async (key, signal) => {
    const [types, z, x, y, field] = key.split('/')
    await turn()
    signal.throwIfAborted()
    const bytes = await vectorTile(types.split(','), { z, x, y }, { signal, field: decodeURIComponent(field) })
    signal.throwIfAborted()
    await studio.call('regions', { key, bytes }, { transfer: [bytes] })
    return key
  }
  return new TileCache(load, MOST, key => studio.call('drop', { key }))
}

/** The key of a tile of some region types, with a property that such tiles do not have by themselves, or ''. */
export const keyOf = (types, { z, x, y }, field) => [types.map(type => type.type), z, x, y, encodeURIComponent(field)].join('/')
