// The worker that decodes and paints the map's tiles.
import { serve } from './service.js'
import { createWorkshop } from './workshop.js'

serve(self, createWorkshop({ newCanvas: () => new OffscreenCanvas(1, 1), picture: canvas => canvas.transferToImageBitmap() }))
