// Run in V8 after MathJax's own components: `typeset` returns SVG and MathML, or null and why there are none.
MathJax.config.startup.adaptor = 'liteAdaptor';
MathJax.startup.getComponents();
MathJax.startup.makeMethods();

function typeset(latex, display) {
  const {document: page, adaptor, toMML} = MathJax.startup;
  const item = new page.options.MathItem(latex, page.inputJax[0], display);
  item.start.node = adaptor.body;
  item.setMetrics(16, 8, 80 * 16, 1e7, 1);
  try {
    item.convert(page, MathJax._.core.MathItem.STATE.CONVERT);
    const spelled = toMML(item.root);
    item.typeset(page);
    return [adaptor.innerHTML(item.typesetRoot), spelled];
  } catch (error) {
    return [null, String(error)];
  }
}
