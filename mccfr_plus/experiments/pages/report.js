find("unit").onchange = event => {
  const unit = event.target.value;
  for (const figure of Bokeh.documents.flatMap(document => document.roots())) {
    for (const below of figure.below) if (below.type === "LogAxis") below.axis_label = LABELS[unit];
    for (const {data_source} of figure.renderers) data_source.data = {...data_source.data, x: data_source.data[unit]};
  }
};
