"""Pictures of a radiance field: cameras, rays, sampling along rays, and volume rendering."""
