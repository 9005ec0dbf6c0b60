// A worker that the page starts before JupyterLab is there, and hands over when the lab asks for a kernel.
importScripts("./start.js");
globalThis.dataflowKernel.start(new URL("./", location.href).href);
importScripts("KERNEL_SCRIPT");
