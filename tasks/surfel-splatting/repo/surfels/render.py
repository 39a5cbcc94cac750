"""From a scene to pictures."""

from .camera import Camera
from .compositing import composite
from .model import Surfels
from .records import Rendering, Samples
from .settings import RenderConfig
from .splatting import project, sample


def render(surfels: Surfels, camera: Camera, config: RenderConfig | None = None) -> tuple[Rendering, Samples]:
    """Render all pixels of `camera`, row by row."""
    config = RenderConfig() if config is None else config
    splats = project(surfels, camera)
    samples = sample(splats, camera.pixels(), camera, config)
    return composite(samples, splats, config), samples


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
