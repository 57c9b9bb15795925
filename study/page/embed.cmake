# Writes OUTPUT, a .cpp whose page_files() returns the page's files: cmake -DOUTPUT= -DFOLDER= -DCHART= -P embed.cmake
function(literal path variable)
  file(READ "${path}" text)
  string(FIND "${text}" ")lookback\"" end)
  if(NOT end EQUAL -1)
    message(FATAL_ERROR "${path} contains the end of a raw string literal")
  endif()
  string(FIND "${text}" "</script" end)
  if(NOT end EQUAL -1 AND NOT path MATCHES "html$")
    message(FATAL_ERROR "${path} would end the element that it stands in")
  endif()
  set(${variable} "R\"lookback(${text})lookback\"" PARENT_SCOPE)
endfunction()

literal("${FOLDER}/page.html" html)
literal("${FOLDER}/page.css" css)
literal("${FOLDER}/page.js" page)
literal("${FOLDER}/curves.js" curves)
literal("${FOLDER}/heatmap.js" heatmap)
literal("${CHART}" chart)
file(WRITE "${OUTPUT}" "#include \"study/page/files.h\"

namespace lookback {

PageFiles page_files() {
  return {${html},
          ${css},
          // Pieces of one script.
          ${curves} ${heatmap} ${page},
          ${chart}};
}

}  // namespace lookback
")
